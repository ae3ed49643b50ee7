// Blocks of quantised weights as floats: what the types of tensor/dtype.h mean.
//
// An element is scale * q, or scale * q + offset, where scale and offset are an F16 of the block
// times a small integer. These products have 24 bits at most, so they are exact in F32, and adding
// an offset is the only rounding: no order of operations, and no fused multiply-add, can change a
// result. A block with a scale that is not finite (no quantiser writes one) gives NaNs.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/dtype.h"

namespace shoal::kernels {

// Also of F32, F16 and BF16, which are exact (float16.h).
// REQUIRES: dtype is a float or quantised; out.size() is a whole number of blocks and `blocks` has
// exactly these.
void Dequantize(DType dtype, std::span<const std::byte> blocks, std::span<float> out);

}  // namespace shoal::kernels
