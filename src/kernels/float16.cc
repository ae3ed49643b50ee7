#include "kernels/float16.h"

#include <limits>

namespace shoal::kernels {
namespace {

constexpr std::uint32_t kSign = 0x80000000;
constexpr std::uint32_t kInfinity = 0x7f800000;

// x / 2^shift, to nearest, ties to even. REQUIRES: 0 < shift < 32.
std::uint32_t ShiftRounding(std::uint32_t x, std::uint32_t shift) {
  const std::uint32_t half = 1U << (shift - 1);
  const std::uint32_t odd = (x >> shift) & 1U;
  return (x + (half - 1) + odd) >> shift;
}

}  // namespace

float FloatFromF16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t magnitude = bits & 0x7fffU;
  if (magnitude > 0x7c00U) return std::numeric_limits<float>::quiet_NaN();
  if (magnitude == 0x7c00U) return std::bit_cast<float>(sign | kInfinity);
  if (magnitude >= 0x0400U) {  // The exponent's bias is 127 instead of 15.
    return std::bit_cast<float>(sign | ((magnitude << 13U) + (112U << 23U)));
  }
  const float value = static_cast<float>(magnitude) * 0x1p-24F;  // Subnormal, or zero: exact.
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
}

std::uint16_t F16FromFloat(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits & kSign) >> 16U;
  const std::uint32_t magnitude = bits & ~kSign;
  if (magnitude > kInfinity) return kF16NaN;
  std::uint32_t half = 0;
  if (magnitude >= 0x47800000U) {  // 2^16 and more; what rounds up to it gets there by carrying.
    half = 0x7c00U;
  } else if (magnitude >= 0x38800000U) {  // 2^-14, the smallest normal F16.
    half = ShiftRounding(magnitude - (112U << 23U), 13);
  } else if (magnitude >= 0x33000000U) {  // 2^-25: half of the smallest subnormal, 2^-24.
    const std::uint32_t exponent = magnitude >> 23U;
    half = ShiftRounding((magnitude & 0x007fffffU) | 0x00800000U, 126U - exponent);
  }
  return static_cast<std::uint16_t>(sign | half);
}

float FloatFromBF16(std::uint16_t bits) {
  if ((bits & 0x7fffU) > 0x7f80U) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

std::uint16_t BF16FromFloat(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & ~kSign) > kInfinity) return kBF16NaN;
  return static_cast<std::uint16_t>(ShiftRounding(bits, 16));
}

}  // namespace shoal::kernels
