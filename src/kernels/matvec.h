// A matrix times a vector, each output being Dot(row, x) of reduce.h to the last bit: several rows
// are worked on at once for speed, never several parts of one row.
#pragma once

#include <cstdint>
#include <span>

#include "base/parallel.h"
#include "kernels/target.h"

namespace shoal::kernels {

// y[r] = the dot product of w[r, :] and x; a NaN result is 0x7fc00000. Rows are cut over
// `parallel`. REQUIRES: w.size() == y.size() * x.size(), w by rows.
void MatVec(std::span<const float> w, std::span<const float> x, std::span<float> y,
            Parallel& parallel, Target target = BestTarget());

// The same for a matrix of F16 numbers, given as their bits; each is taken as a float, exactly.
void MatVecF16(std::span<const std::uint16_t> w, std::span<const float> x, std::span<float> y,
               Parallel& parallel, Target target = BestTarget());

}  // namespace shoal::kernels
