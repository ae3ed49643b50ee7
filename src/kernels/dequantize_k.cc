// The K types: 256 elements in groups of 16 or 32, whose scales are small integers.
#include <cstdint>

#include "kernels/dequantize_internal.h"
#include "kernels/quant_blocks.h"

namespace shoal::kernels::internal {
namespace {

float AsFloat(std::uint32_t value) { return static_cast<float>(value); }
float AsFloat(int value) { return static_cast<float>(value); }

// Q2_K and Q3_K keep two bits of 128 elements in 32 bytes: elements 0-31 are the lowest bits of
// each byte, 32-63 the next. Calls with (group of 16, element, where the byte is, shift).
template <class Function>
void ForEachTwoBits(Function function) {
  for (std::size_t i = 0; i < kLargeBlock; ++i) {
    const std::size_t half = i / 128;
    const std::size_t plane = i % 128 / 32;
    function(i / 16, i, half * 32 + i % 32, static_cast<std::uint32_t>(2 * plane));
  }
}

}  // namespace

// scales[16] (a nibble of scale, above it one of minimum), two-bit numbers[64], d, dmin.
void DequantizeQ2K(const std::byte* block, float* out) {
  const float d = LoadF16(block + 80);
  const float dmin = LoadF16(block + 82);
  ForEachTwoBits([&](std::size_t group, std::size_t i, std::size_t byte, std::uint32_t shift) {
    const std::uint32_t scales = LoadByte(block + group);
    const std::uint32_t q = (LoadByte(block + 16 + byte) >> shift) & 3U;
    out[i] = d * AsFloat(scales & 15U) * AsFloat(q) - dmin * AsFloat(scales >> 4U);
  });
}

// Third bits[32], two-bit numbers[64], scales[12], d. A third bit that is not set means "less 4".
void DequantizeQ3K(const std::byte* block, float* out) {
  const float d = LoadF16(block + 108);
  const auto scales = UnpackScalesQ3K(block + 96);
  ForEachTwoBits([&](std::size_t group, std::size_t i, std::size_t byte, std::uint32_t shift) {
    const bool third = ((LoadByte(block + i % 32) >> (i / 32)) & 1U) != 0;
    const int q = ((LoadByte(block + 32 + byte) >> shift) & 3) - (third ? 0 : 4);
    out[i] = d * AsFloat(scales[group]) * AsFloat(q);
  });
}

// d, dmin, scales[12], nibbles[128]: of each 32 bytes, the lower nibbles are one group of 32 and
// the upper ones the next.
void DequantizeQ4K(const std::byte* block, float* out) {
  const float d = LoadF16(block);
  const float dmin = LoadF16(block + 2);
  const GroupScales scales = UnpackGroupScales(block + 4);
  for (std::size_t i = 0; i < kLargeBlock; ++i) {
    const std::size_t group = i / 32;
    const std::uint32_t byte = LoadByte(block + 16 + group / 2 * 32 + i % 32);
    const std::uint32_t q = group % 2 == 0 ? byte & 15U : byte >> 4U;
    out[i] = d * AsFloat(scales.scale[group]) * AsFloat(q) - dmin * AsFloat(scales.minimum[group]);
  }
}

// The same with fifth bits[32] before the nibbles: bit g of byte l is of element l of group g.
void DequantizeQ5K(const std::byte* block, float* out) {
  const float d = LoadF16(block);
  const float dmin = LoadF16(block + 2);
  const GroupScales scales = UnpackGroupScales(block + 4);
  for (std::size_t i = 0; i < kLargeBlock; ++i) {
    const std::size_t group = i / 32;
    const std::uint32_t byte = LoadByte(block + 48 + group / 2 * 32 + i % 32);
    const std::uint32_t fifth = (LoadByte(block + 16 + i % 32) >> group) & 1U;
    const std::uint32_t q = (group % 2 == 0 ? byte & 15U : byte >> 4U) | (fifth << 4U);
    out[i] = d * AsFloat(scales.scale[group]) * AsFloat(q) - dmin * AsFloat(scales.minimum[group]);
  }
}

// Nibbles[128], upper two bits[64], scales[16], d. Each half of 128 elements has 64 bytes of
// nibbles (elements 0-63 the lower, 64-127 the upper ones) and 32 of two bits (as in Q2_K).
void DequantizeQ6K(const std::byte* block, float* out) {
  const float d = LoadF16(block + 208);
  for (std::size_t i = 0; i < kLargeBlock; ++i) {
    const std::size_t half = i / 128;
    const std::size_t at = i % 128;
    const std::uint32_t byte = LoadByte(block + half * 64 + at % 64);
    const std::uint32_t low = at < 64 ? byte & 15U : byte >> 4U;
    const std::uint32_t high =
        (LoadByte(block + 128 + half * 32 + at % 32) >> (2 * (at / 32))) & 3U;
    const int q = static_cast<int>(low | (high << 4U)) - 32;
    const auto scale = static_cast<std::int8_t>(LoadByte(block + 192 + i / 16));
    out[i] = d * AsFloat(scale) * AsFloat(q);
  }
}

}  // namespace shoal::kernels::internal
