// Softmax of each row: the same bits on every target and thread count.
//
//   m = Max(row);  e[i] = Exp(row[i] - m);  s = the sum of e by 16 lanes and a tree;
//   out[i] = e[i] / s
//
// with Max of reduce.h, Exp of math.h and the sum of scalar_group.h. A row that holds NaN or
// +infinity, or -infinity only, has no distribution: all or some of its results are NaN
// (0x7fc00000), as the formula gives.
#pragma once

#include <cstddef>
#include <span>

#include "base/parallel.h"
#include "kernels/target.h"

namespace shoal::kernels {

// Rows are cut over `parallel`. y is x or does not overlap it.
// REQUIRES: x.size() == y.size(), a multiple of row_size; row_size > 0.
void Softmax(std::span<const float> x, std::size_t row_size, std::span<float> y, Parallel& parallel,
             Target target = BestTarget());

}  // namespace shoal::kernels
