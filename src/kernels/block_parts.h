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

namespace shoal::kernels {

struct BlockParts {
  std::uint16_t d = 0;  // F16 bits.
  std::uint16_t second = 0;
  std::array<std::int8_t, 16> scales = {};
  std::array<std::int8_t, 16> minima = {};
  std::array<std::int8_t, 256> q = {};
};

// Each reads one block of its type. Of the IQ2 types weights are an eighth, of IQ3_XXS a quarter of
// what the parts say. REQUIRES: Info(dtype).block_bytes bytes at `block`.
using PartsReader = void(const std::byte* block, BlockParts& parts);
PartsReader ReadQ5_0;
PartsReader ReadQ5_1;
PartsReader ReadQ2K;
PartsReader ReadQ3K;
PartsReader ReadQ5K;
PartsReader ReadIQ4NL;
PartsReader ReadIQ4XS;
PartsReader ReadIQ2XXS;
PartsReader ReadIQ2XS;
PartsReader ReadIQ2S;
PartsReader ReadIQ3XXS;
PartsReader ReadIQ3S;

}  // namespace shoal::kernels
