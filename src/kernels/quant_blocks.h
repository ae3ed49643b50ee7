// What the quantised types of tensor/dtype.h have in common with those who read their blocks:
// numbers in unaligned bytes, and the packed scales of the K types.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/float16.h"

namespace shoal::kernels {

inline constexpr std::size_t kSmallBlock = 32;   // Elements of a block of the _0 and _1 types.
inline constexpr std::size_t kLargeBlock = 256;  // Of a K type.

inline std::uint8_t LoadByte(const std::byte* at) { return std::to_integer<std::uint8_t>(*at); }
inline std::uint16_t LoadU16(const std::byte* at) {
  return static_cast<std::uint16_t>(LoadByte(at) | (LoadByte(at + 1) << 8U));
}
inline std::uint32_t LoadU32(const std::byte* at) {
  return LoadU16(at) | (static_cast<std::uint32_t>(LoadU16(at + 2)) << 16U);
}
inline float LoadF16(const std::byte* at) { return FloatFromF16(LoadU16(at)); }

inline void StoreU16(std::uint16_t value, std::byte* at) {
  at[0] = static_cast<std::byte>(value & 0xffU);
  at[1] = static_cast<std::byte>(value >> 8U);
}

// Q4_K and Q5_K: eight groups of 32, each with a scale and a minimum of six bits, in 12 bytes.
struct GroupScales {
  std::array<std::uint8_t, 8> scale;
  std::array<std::uint8_t, 8> minimum;
};
// Bytes 0-3: scales 0-3 and, above them, the upper two bits of scales 4-7; bytes 4-7: minima alike;
// bytes 8-11: the lower four bits of scales 4-7, and above them of minima 4-7.
inline GroupScales UnpackGroupScales(const std::byte* packed) {
  GroupScales out{};
  for (std::size_t i = 0; i < 4; ++i) {
    const std::uint32_t a = LoadByte(packed + i);
    const std::uint32_t b = LoadByte(packed + 4 + i);
    const std::uint32_t low = LoadByte(packed + 8 + i);
    out.scale[i] = static_cast<std::uint8_t>(a & 63U);
    out.minimum[i] = static_cast<std::uint8_t>(b & 63U);
    out.scale[i + 4] = static_cast<std::uint8_t>((low & 15U) | ((a >> 6U) << 4U));
    out.minimum[i + 4] = static_cast<std::uint8_t>((low >> 4U) | ((b >> 6U) << 4U));
  }
  return out;
}
inline void PackGroupScales(const GroupScales& scales, std::byte* packed) {
  for (std::size_t i = 0; i < 4; ++i) {
    const std::uint32_t scale = scales.scale[i + 4];
    const std::uint32_t minimum = scales.minimum[i + 4];
    packed[i] = static_cast<std::byte>(scales.scale[i] | ((scale >> 4U) << 6U));
    packed[i + 4] = static_cast<std::byte>(scales.minimum[i] | ((minimum >> 4U) << 6U));
    packed[i + 8] = static_cast<std::byte>((scale & 15U) | ((minimum & 15U) << 4U));
  }
}

// Q3_K: sixteen scales of six bits, less 32, in 12 bytes: two nibbles in each of bytes 0-7 (scale i
// and i+8), the upper two bits of four scales in each of bytes 8-11.
inline std::array<std::int8_t, 16> UnpackScalesQ3K(const std::byte* packed) {
  std::array<std::int8_t, 16> out{};
  for (std::size_t i = 0; i < 16; ++i) {
    const std::uint32_t low = (LoadByte(packed + i % 8) >> (i < 8 ? 0U : 4U)) & 15U;
    const std::uint32_t high = (LoadByte(packed + 8 + i % 4) >> (2 * (i / 4))) & 3U;
    out[i] = static_cast<std::int8_t>(static_cast<int>(low | (high << 4U)) - 32);
  }
  return out;
}

// IQ types: seven signs are stored; the eighth makes their number even.
inline std::uint32_t IQSigns(std::uint32_t seven) {
  return seven | (static_cast<std::uint32_t>(std::popcount(seven) & 1) << 7U);
}

// The sixteen values that a nibble of IQ4_NL and IQ4_XS stands for: denser around zero.
inline constexpr std::array<std::int8_t, 16> kIQ4Values = {
    -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

}  // namespace shoal::kernels
