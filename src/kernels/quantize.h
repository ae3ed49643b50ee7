// Floats into blocks of quantised weights.
//
// The measure is the squared error of what Dequantize gives back, every weight counting alike. How
// a scale is found: the obvious one (the largest magnitude on the last step) is rarely the best,
// because one outlier makes all steps coarse. So for a row of divisors around the obvious one,
// weights are rounded to steps, the scale (and offset) is fitted to these steps by least squares,
// and the best of all is kept. The K types then round the scales of groups to six or eight bits
// under one F16, and try the neighbours of each. Same input, same bytes, on every machine.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/dtype.h"

namespace shoal::kernels {

// F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K.
bool CanQuantize(DType dtype);

// Magnitudes that a format cannot hold become its largest.
// REQUIRES: CanQuantize(dtype); every x is finite; x.size() is a whole number of blocks and
// `blocks` has exactly these.
void Quantize(DType dtype, std::span<const float> x, std::span<std::byte> blocks);

}  // namespace shoal::kernels
