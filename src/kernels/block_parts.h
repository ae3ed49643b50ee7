// BlockParts: what a quantised block of a file says, apart from how it is stored: integers, small
// integer scales, and the F16 numbers that they are multiplied with.
//
//   weight[i] = d * scale[i / 16] * q[i] - second * minimum[i / 16]      (blocks of 256)
//   weight[i] = d * q[i] + second                                        (blocks of 32)
//
// A format without a second number has second = 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace shoal::kernels {

struct BlockParts {
  std::uint16_t d = 0;  // F16 bits.
  std::uint16_t second = 0;
  std::array<std::int8_t, 16> scales = {};
  std::array<std::int8_t, 16> minima = {};
  std::array<std::int8_t, 256> q = {};
};

// Reads one block. REQUIRES: Info(dtype).block_bytes bytes at `block`.
using PartsReader = void(const std::byte* block, BlockParts& parts);

// Null if the format is not made of such parts.
PartsReader* PartsReaderOf(DType dtype);

}  // namespace shoal::kernels
