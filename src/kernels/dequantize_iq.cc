// The IQ types: eight, or four, elements at a time are looked up in a table (iq_grids.h).
#include <cstdint>

#include "kernels/dequantize_internal.h"
#include "kernels/iq_grids.h"
#include "kernels/quant_blocks.h"

namespace shoal::kernels::internal {
namespace {

constexpr std::size_t kGroups = kLargeBlock / 32;

float Signed(float scale, int magnitude, std::uint32_t signs, std::size_t j) {
  return scale * static_cast<float>(((signs >> j) & 1U) != 0 ? -magnitude : magnitude);
}

void EightOf2(float scale, std::uint16_t code, std::uint32_t signs, float* out) {
  for (std::size_t j = 0; j < 8; ++j) out[j] = Signed(scale, IQ2Magnitude(code, j), signs, j);
}

void EightOf3(float scale, std::uint16_t code0, std::uint16_t code1, const IQ3Magnitudes& values,
              std::uint32_t signs, float* out) {
  for (std::size_t j = 0; j < 4; ++j) {
    out[j] = Signed(scale, IQ3Magnitude(code0, values, j), signs, j);
    out[j + 4] = Signed(scale, IQ3Magnitude(code1, values, j), signs, j + 4);
  }
}

// A scale of four bits means (s + 1/2) / 4 in the two-bit types.
float QuarterScale(float d, std::uint32_t s) {
  return d * (static_cast<float>(2 * s + 1) * 0.125F);
}

}  // namespace

// d, then for each 32 elements four indices of a byte, 4 x 7 signs and a scale of four bits.
void DequantizeIQ2XXS(const std::byte* block, float* out) {
  const float d = LoadF16(block);
  for (std::size_t group = 0; group < kGroups; ++group) {
    const std::byte* indices = block + 2 + 8 * group;
    const std::uint32_t rest = LoadU32(indices + 4);
    const float scale = QuarterScale(d, rest >> 28U);
    for (std::size_t l = 0; l < 4; ++l) {
      EightOf2(scale, kIQ2XXSGrid[LoadByte(indices + l)], IQSigns((rest >> (7 * l)) & 127U),
               out + 32 * group + 8 * l);
    }
  }
}

// d, then of each eight elements an index of nine bits and seven signs; scales of 16 elements.
void DequantizeIQ2XS(const std::byte* block, float* out) {
  const float d = LoadF16(block);
  for (std::size_t i = 0; i < kLargeBlock / 8; ++i) {
    const std::uint32_t word = LoadU16(block + 2 + 2 * i);
    const std::uint32_t scales = LoadByte(block + 66 + i / 4);
    const float scale = QuarterScale(d, i % 4 < 2 ? scales & 15U : scales >> 4U);
    EightOf2(scale, kIQ2XSGrid[word & 511U], IQSigns(word >> 9U), out + 8 * i);
  }
}

// d, indices[32], signs[32], the upper two bits of four indices[8], scales[8].
void DequantizeIQ2S(const std::byte* block, float* out) {
  const float d = LoadF16(block);
  for (std::size_t i = 0; i < kLargeBlock / 8; ++i) {
    const std::uint32_t high = (LoadByte(block + 66 + i / 4) >> (2 * (i % 4))) & 3U;
    const std::uint32_t index = LoadByte(block + 2 + i) | (high << 8U);
    const std::uint32_t scales = LoadByte(block + 74 + i / 4);
    const float scale = QuarterScale(d, i % 4 < 2 ? scales & 15U : scales >> 4U);
    EightOf2(scale, kIQ2SGrid[index], LoadByte(block + 34 + i), out + 8 * i);
  }
}

// d, indices[64] of four elements, then for each 32 elements 4 x 7 signs and a scale of four bits.
void DequantizeIQ3XXS(const std::byte* block, float* out) {
  const float d = LoadF16(block);
  for (std::size_t group = 0; group < kGroups; ++group) {
    const std::uint32_t rest = LoadU32(block + 66 + 4 * group);
    const float scale = d * (static_cast<float>(2 * (rest >> 28U) + 1) * 0.25F);
    const std::byte* indices = block + 2 + 8 * group;
    for (std::size_t l = 0; l < 4; ++l) {
      EightOf3(scale, kIQ3XXSGrid[LoadByte(indices + 2 * l)],
               kIQ3XXSGrid[LoadByte(indices + 2 * l + 1)], kIQ3XXSMagnitudes,
               IQSigns((rest >> (7 * l)) & 127U), out + 32 * group + 8 * l);
    }
  }
}

// d, indices[64] of four elements, their ninth bits[8], signs[32], scales[4] of 32 elements.
void DequantizeIQ3S(const std::byte* block, float* out) {
  const float d = LoadF16(block);
  const auto index = [&](std::size_t i) {
    const std::uint32_t ninth = (LoadByte(block + 66 + i / 8) >> (i % 8)) & 1U;
    return LoadByte(block + 2 + i) | (ninth << 8U);
  };
  for (std::size_t i = 0; i < kLargeBlock / 8; ++i) {
    const std::size_t group = i / 4;
    const std::uint32_t scales = LoadByte(block + 106 + group / 2);
    const std::uint32_t s = group % 2 == 0 ? scales & 15U : scales >> 4U;
    EightOf3(d * static_cast<float>(2 * s + 1), kIQ3SGrid[index(2 * i)],
             kIQ3SGrid[index(2 * i + 1)], kIQ3SMagnitudes, LoadByte(block + 74 + i), out + 8 * i);
  }
}

// d, nibbles[16].
void DequantizeIQ4NL(const std::byte* block, float* out) {
  const float d = LoadF16(block);
  for (std::size_t j = 0; j < 16; ++j) {
    const std::uint8_t byte = LoadByte(block + 2 + j);
    out[j] = d * static_cast<float>(kIQ4Values[byte & 15U]);
    out[j + 16] = d * static_cast<float>(kIQ4Values[byte >> 4U]);
  }
}

// d, the upper two bits of eight scales, their lower nibbles[4], nibbles[128]; a scale less 32.
void DequantizeIQ4XS(const std::byte* block, float* out) {
  const float d = LoadF16(block);
  const std::uint32_t high = LoadU16(block + 2);
  for (std::size_t group = 0; group < kGroups; ++group) {
    const std::uint32_t low = (LoadByte(block + 4 + group / 2) >> (4 * (group % 2))) & 15U;
    const int scale = static_cast<int>(low | (((high >> (2 * group)) & 3U) << 4U)) - 32;
    const float ds = d * static_cast<float>(scale);
    for (std::size_t j = 0; j < 16; ++j) {
      const std::uint8_t byte = LoadByte(block + 8 + 16 * group + j);
      out[32 * group + j] = ds * static_cast<float>(kIQ4Values[byte & 15U]);
      out[32 * group + j + 16] = ds * static_cast<float>(kIQ4Values[byte >> 4U]);
    }
  }
}

}  // namespace shoal::kernels::internal
