// Products of quantised weights and quantised activations: the same bits on every target, thread
// count and number of columns. For row r and column c,
//
//   y = 0;  for each block, in order:
//     y = fma(s, d_w * d_a, y)        s: the sum of products of integers, sub-scales included
//     y = fma(t, m_w * d_a, y)        where there is an offset; -minimum * d_a for minima
//
// s and t are exact in 32 bits and then rounded to a float; where there is a zero z, s is s - z t,
// all of them integers that a float holds. Lanes of vectors are rows: no sum is
// ever cut along k. A NaN result is 0x7fc00000.
#pragma once

#include <span>

#include "base/parallel.h"
#include "kernels/packed_weights.h"
#include "kernels/quantized_rows.h"
#include "kernels/target.h"

namespace shoal::kernels {

// y[c, r] for all rows of w (the faster index) and columns of x. Groups of rows are cut over
// `parallel`. REQUIRES: w.k() == x.k(), the blocks of both are the same, and
// y.size() == w.rows() * x.rows().
void QuantMatMul(const PackedWeights& w, const QuantizedRows& x, std::span<float> y,
                 Parallel& parallel, Target target = BestTarget());

}  // namespace shoal::kernels
