// Root-mean-square normalisation of each row: the same bits on every target and thread count.
//
//   q = SumOfSquares(row);  s = 1 / sqrt(q / n + epsilon);  out[i] = (row[i] * s) * weight[i]
//
// with SumOfSquares of reduce.h; n, the row's length, is rounded to a float, and every other step
// is one IEEE operation. A NaN result is 0x7fc00000.
#pragma once

#include <span>

#include "base/parallel.h"
#include "kernels/target.h"

namespace shoal::kernels {

// Rows have weight.size() elements and are cut over `parallel`. y is x or does not overlap it.
// REQUIRES: x.size() == y.size(), a multiple of weight.size(); weight is not empty.
void RmsNorm(std::span<const float> x, std::span<const float> weight, float epsilon,
             std::span<float> y, Parallel& parallel, Target target = BestTarget());

}  // namespace shoal::kernels
