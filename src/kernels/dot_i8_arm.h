// Implementations for ARM's 8-bit dot products and matrix multiplication, which Highway 1.0.3 has
// no targets for. Internal to dot_i8.cc, which calls them only where the CPU has the instructions.
#pragma once

#include "kernels/dot_i8_tiles.h"

namespace shoal::kernels {

std::int32_t DotI8Dotprod(const std::int8_t* x, const std::int8_t* y, std::size_t k);
void MatMulI8Dotprod(const MatMulI8Args& args);
// REQUIRES: dotprod too, as every CPU with i8mm has.
void MatMulI8I8mm(const MatMulI8Args& args);

}  // namespace shoal::kernels
