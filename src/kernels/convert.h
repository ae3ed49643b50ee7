// Arrays of 16-bit floats, given as their bits, from and to F32. The same bits on every target:
// float16.h says which. The work is cut over `parallel`.
// REQUIRES, for all: x and y have the same length and do not overlap.
#pragma once

#include <cstdint>
#include <span>

#include "base/parallel.h"
#include "kernels/target.h"

namespace shoal::kernels {

void F16FromF32(std::span<const float> x, std::span<std::uint16_t> y, Parallel& parallel,
                Target target = BestTarget());
void F32FromF16(std::span<const std::uint16_t> x, std::span<float> y, Parallel& parallel,
                Target target = BestTarget());
void BF16FromF32(std::span<const float> x, std::span<std::uint16_t> y, Parallel& parallel,
                 Target target = BestTarget());
void F32FromBF16(std::span<const std::uint16_t> x, std::span<float> y, Parallel& parallel,
                 Target target = BestTarget());

}  // namespace shoal::kernels
