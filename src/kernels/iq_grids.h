// The tables of the IQ types, which are part of their format: which combinations of magnitudes
// eight (IQ2), or four (IQ3), weights side by side can have.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace shoal::kernels {

// Eight codes of two bits, the first lowest; a code is a place among the magnitudes.
extern const std::array<std::uint16_t, 256> kIQ2XXSGrid;
extern const std::array<std::uint16_t, 512> kIQ2XSGrid;
extern const std::array<std::uint16_t, 1024> kIQ2SGrid;
inline constexpr std::array<std::uint8_t, 4> kIQ2Magnitudes = {8, 25, 43, 0};  // No code is 3.

inline int IQ2Magnitude(std::uint16_t codes, std::size_t element) {
  return kIQ2Magnitudes[(codes >> (2 * element)) & 3U];
}

// Four codes of three bits.
extern const std::array<std::uint16_t, 256> kIQ3XXSGrid;
extern const std::array<std::uint16_t, 512> kIQ3SGrid;
using IQ3Magnitudes = std::array<std::uint8_t, 8>;
inline constexpr IQ3Magnitudes kIQ3XXSMagnitudes = {4, 12, 20, 28, 36, 44, 52, 62};
inline constexpr IQ3Magnitudes kIQ3SMagnitudes = {1, 3, 5, 7, 9, 11, 13, 15};

inline int IQ3Magnitude(std::uint16_t codes, const IQ3Magnitudes& magnitudes, std::size_t element) {
  return magnitudes[(codes >> (3 * element)) & 7U];
}

}  // namespace shoal::kernels
