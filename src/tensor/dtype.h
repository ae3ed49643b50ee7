// DType: what the elements of a tensor are. Elements are stored in blocks: plain
// types have blocks of one element, quantised formats blocks of 32 or 256 elements
// that share scales. All sizes follow from the table behind Info().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string_view>

namespace shoal {

enum class DType : std::uint8_t {
  kF32,
  kF16,   // IEEE binary16.
  kBF16,  // The upper half of an F32.
  kI8,
  kI32,
};

struct DTypeInfo {
  std::string_view name;
  std::size_t block_elements;
  std::size_t block_bytes;
};

const DTypeInfo& Info(DType dtype);
std::optional<DType> ParseDType(std::string_view name);
std::ostream& operator<<(std::ostream& out, DType dtype);

// F16 and BF16 values as stored; kernels/ converts them.
struct F16 {
  std::uint16_t bits = 0;
  bool operator==(const F16&) const = default;
};
struct BF16 {
  std::uint16_t bits = 0;
  bool operator==(const BF16&) const = default;
};

// DTypeOf<T>: the DType whose elements are T in memory.
template <class T>
struct DTypeOfType;
template <>
struct DTypeOfType<float> {
  static constexpr DType kValue = DType::kF32;
};
template <>
struct DTypeOfType<F16> {
  static constexpr DType kValue = DType::kF16;
};
template <>
struct DTypeOfType<BF16> {
  static constexpr DType kValue = DType::kBF16;
};
template <>
struct DTypeOfType<std::int8_t> {
  static constexpr DType kValue = DType::kI8;
};
template <>
struct DTypeOfType<std::int32_t> {
  static constexpr DType kValue = DType::kI32;
};
template <class T>
inline constexpr DType kDTypeOf = DTypeOfType<T>::kValue;

}  // namespace shoal
