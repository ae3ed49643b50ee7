// Reductions over one array of floats: the same bits on every target. Sums go by 16 lanes and a
// tree (scalar_group.h); a NaN result is 0x7fc00000. One thread: the order is part of the result.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/target.h"

namespace shoal::kernels {

// 0 for no elements.
float Sum(std::span<const float> x, Target target = BestTarget());

// REQUIRES: x.size() == y.size().
float Dot(std::span<const float> x, std::span<const float> y, Target target = BestTarget());

// Dot(x, x).
float SumOfSquares(std::span<const float> x, Target target = BestTarget());

// NaN if any element is NaN; -infinity for no elements; never -0 (it is +0 then).
float Max(std::span<const float> x, Target target = BestTarget());

// The lowest index of the largest element, -0 and +0 being equal; that of the first NaN if there
// is one, as NaN counts as the largest in Max too. REQUIRES: x is not empty.
std::size_t ArgMax(std::span<const float> x, Target target = BestTarget());

}  // namespace shoal::kernels
