// 16-bit floats, one number at a time, in integer operations: what the conversions of convert.h
// mean. F16 is IEEE binary16 (5 bits of exponent), BF16 the upper half of a float.
#pragma once

#include <bit>
#include <cstdint>

namespace shoal::kernels {

inline constexpr std::uint16_t kF16NaN = 0x7e00;  // The one NaN of each that we store.
inline constexpr std::uint16_t kBF16NaN = 0x7fc0;

// Exact; any NaN becomes 0x7fc00000.
float FloatFromF16(std::uint16_t bits);
float FloatFromBF16(std::uint16_t bits);

// To nearest, ties to even; too large is infinity, any NaN is the one above.
std::uint16_t F16FromFloat(float value);
std::uint16_t BF16FromFloat(float value);

}  // namespace shoal::kernels
