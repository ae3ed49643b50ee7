// Rounding to the nearest integer, ties to even, by an addition: the same bits in scalars and
// vectors.
#pragma once

#include <cstdint>

namespace shoal::kernels {

// Adding it to a number below 2^22 rounds that to an integer, which is then in the low bits.
inline constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23
inline constexpr std::uint32_t kRounderBits = 0x4b400000;

}  // namespace shoal::kernels
