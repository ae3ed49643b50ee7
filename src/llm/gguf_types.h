// The numbers by which a GGUF file says what a value or a tensor is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/dtype.h"

namespace shoal::llm {

// Of a value in the metadata.
enum class GgufType : std::uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,  // One byte, 0 or 1.
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

// Nothing if no such type exists.
std::optional<GgufType> GgufTypeFromId(std::uint64_t id);
// "u32", "string".
std::string_view Name(GgufType type);
// Bytes of one value; 0 for strings and arrays, which say it themselves.
std::size_t FixedSize(GgufType type);

// The elements of a tensor. Nothing if we have no such type.
std::optional<DType> DTypeFromGgufId(std::uint64_t id);
std::uint32_t GgufIdOf(DType dtype);
// For messages: "39 (MXFP4)", "4711".
std::string DescribeTensorType(std::uint64_t id);

// What `general.file_type` says of a file whose matrices are mostly `dtype`, if it has a number for
// that. Q4_K means the mixture Q4_K_M.
std::optional<std::uint32_t> GgufFileType(DType dtype);

}  // namespace shoal::llm
