// DType: what the elements of a tensor are. Elements are stored in blocks: plain
// types have blocks of one element, quantised formats blocks of 32 or 256 elements
// that share scales. All sizes follow from the table behind Info().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string_view>
#include <type_traits>

namespace shoal {

enum class DType : std::uint8_t {
  kF32,
  kF16,   // IEEE binary16.
  kBF16,  // The upper half of an F32.
  kI8,
  kI32,
  // Quantised blocks, named as in GGUF files: bits per weight, and how scales are kept. _0: one
  // scale; _1: scale and offset; _K: 256 weights in 8 or 16 groups whose small integer scales
  // share an F16; IQ: weights are looked up in a table. kernels/dequantize.h says what they mean.
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ2_XXS,
  kIQ2_XS,
  kIQ2_S,
  kIQ3_XXS,
  kIQ3_S,
  kIQ4_NL,
  kIQ4_XS,
};

struct DTypeInfo {
  std::string_view name;
  std::size_t block_elements;
  std::size_t block_bytes;
};

const DTypeInfo& Info(DType dtype);
// Every type there is, in the order of the enum.
std::span<const DType> AllDTypes();
inline bool IsQuantized(DType dtype) { return dtype >= DType::kQ4_0; }
// By its name: "f32", "q4_K".
std::optional<DType> ParseDType(std::string_view name);
std::ostream& operator<<(std::ostream& out, DType dtype);

// Whether elements of `dtype` are T in memory. 16-bit floats are their bits, a uint16_t:
// C++20 has no type for them, and kernels/convert.h makes floats of them.
template <class T>
constexpr bool IsElementOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return std::is_same_v<T, float>;
    case DType::kF16:
    case DType::kBF16:
      return std::is_same_v<T, std::uint16_t>;
    case DType::kI8:
      return std::is_same_v<T, std::int8_t>;
    case DType::kI32:
      return std::is_same_v<T, std::int32_t>;
    default:
      return false;  // Quantised: has no elements in memory, only blocks.
  }
}

}  // namespace shoal
