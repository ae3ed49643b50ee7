#include "llm/safetensors.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "llm/json_fields_internal.h"
#include "llm/token_index.h"

namespace shoal::llm {
namespace {

using internal::AsString;
using internal::Field;
using internal::Json;

struct TypeRow {
  std::string_view name;
  std::size_t bytes;  // Of an element.
  std::optional<DType> dtype;
};
constexpr std::array<TypeRow, 15> kTypes = {{
    {"F32", 4, DType::kF32},
    {"F16", 2, DType::kF16},
    {"BF16", 2, DType::kBF16},
    {"I32", 4, DType::kI32},
    {"I8", 1, DType::kI8},
    {"F64", 8, std::nullopt},
    {"I64", 8, std::nullopt},
    {"U64", 8, std::nullopt},
    {"U32", 4, std::nullopt},
    {"I16", 2, std::nullopt},
    {"U16", 2, std::nullopt},
    {"U8", 1, std::nullopt},
    {"BOOL", 1, std::nullopt},
    {"F8_E4M3", 1, std::nullopt},
    {"F8_E5M2", 1, std::nullopt},
}};

constexpr std::size_t kLengthBytes = 8;

// Whole, if it is one that a model has.
std::string Name(std::string_view tensor) { return Quoted(tensor, 120); }

Status Wrong(std::string what) { return Status(Code::kCorruption, std::move(what)); }

Result<const TypeRow*> FindType(const Json& value) {
  const std::string* name = AsString(value);
  if (name == nullptr) return Wrong("has no dtype");
  for (const TypeRow& row : kTypes) {
    if (row.name == *name) return &row;
  }
  return Status(Code::kInvalidArgument, "has elements of type " + Quoted(*name));
}

// A list of numbers from 0 to 2^63 - 1.
Result<std::vector<std::int64_t>> ReadNumbers(const Json& list, std::string_view what) {
  if (!list.is_array()) return Wrong("has no " + std::string(what));
  std::vector<std::int64_t> numbers;
  for (const Json& each : list) {
    const auto* number = each.get_ptr<const Json::number_unsigned_t*>();
    if (number == nullptr ||
        *number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return Wrong("has a " + std::string(what) + " that is not made of whole numbers");
    }
    numbers.push_back(static_cast<std::int64_t>(*number));
  }
  return numbers;
}

Result<SafetensorsTensor> ReadTensor(const Json& entry, std::span<const std::byte> data) {
  SafetensorsTensor tensor;
  SHOAL_ASSIGN_OR_RETURN(const TypeRow* type, FindType(Field(entry, "dtype")));
  tensor.type = type->name;
  tensor.dtype = type->dtype;
  SHOAL_ASSIGN_OR_RETURN(const auto extents, ReadNumbers(Field(entry, "shape"), "shape"));
  auto shape = Shape::Make(extents);
  if (!shape.ok()) return Wrong("has a shape that cannot be: " + shape.status().ToString());
  tensor.shape = *shape;
  SHOAL_ASSIGN_OR_RETURN(const auto offsets,
                         ReadNumbers(Field(entry, "data_offsets"), "data_offsets"));
  if (offsets.size() != 2) return Wrong("has not two data_offsets");
  const auto begin = static_cast<std::uint64_t>(offsets[0]);
  const auto end = static_cast<std::uint64_t>(offsets[1]);
  if (begin > end || end > data.size()) {
    return Wrong("is at bytes " + std::to_string(begin) + " to " + std::to_string(end) +
                 " of the data, which has " + std::to_string(data.size()));
  }
  const std::uint64_t bytes = end - begin;
  // Compared by division: elements times bytes can be more than 64 bits.
  if (bytes % type->bytes != 0 ||
      bytes / type->bytes != static_cast<std::uint64_t>(tensor.shape.elements())) {
    return Wrong("is " + std::string(type->name) + " " + ToString(tensor.shape) + ", but has " +
                 std::to_string(bytes) + " bytes");
  }
  tensor.bytes = data.subspan(begin, bytes);
  return tensor;
}

Status CheckOverlaps(std::span<const SafetensorsTensor> tensors) {
  std::vector<const SafetensorsTensor*> sorted;
  for (const SafetensorsTensor& tensor : tensors) {
    if (!tensor.bytes.empty()) sorted.push_back(&tensor);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->bytes.data() < b->bytes.data(); });
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const SafetensorsTensor& before = *sorted[i - 1];
    if (before.bytes.data() + before.bytes.size() <= sorted[i]->bytes.data()) continue;
    return Wrong("tensors " + Name(before.name) + " and " + Name(sorted[i]->name) +
                 " have bytes in common");
  }
  return {};
}

Result<std::vector<SafetensorsTensor>> ReadTensors(std::span<const std::byte> bytes) {
  if (bytes.size() < kLengthBytes) return Wrong("ends inside the length of its header");
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  }
  if (length > kMaxSafetensorsHeader || length > bytes.size() - kLengthBytes) {
    return Wrong("has a header of " + std::to_string(length) + " bytes; the file has " +
                 std::to_string(bytes.size()) + ", and the limit is " +
                 std::to_string(kMaxSafetensorsHeader));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  const Result<Json> header = internal::ParseJson(text);
  if (!header.ok()) return Wrong("header: " + std::string(header.status().message()));
  if (!header->is_object()) return Wrong("has a header that is not an object");
  std::vector<SafetensorsTensor> tensors;
  for (const auto& [name, entry] : header->items()) {
    if (name == "__metadata__") continue;
    auto tensor = ReadTensor(entry, bytes.subspan(kLengthBytes + length));
    if (!tensor.ok()) {
      return Status(tensor.status().code(),
                    "tensor " + Name(name) + " " + std::string(tensor.status().message()));
    }
    tensor->name = name;
    tensors.push_back(*std::move(tensor));
  }
  SHOAL_RETURN_IF_ERROR(CheckOverlaps(tensors));
  return tensors;
}

// Whether a name stays in the folder it is looked up in.
bool IsPlainName(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::Parse(std::string name, std::span<const std::byte> bytes) {
  SafetensorsFile file;
  auto tensors = ReadTensors(bytes);
  if (!tensors.ok()) return std::move(tensors).status().Annotate(name);
  file.tensors_ = *std::move(tensors);
  file.name_ = std::move(name);
  return file;
}

Result<std::vector<std::string>> ReadSafetensorsIndex(std::string_view file,
                                                      std::string_view text) {
  const auto wrong = [&](const std::string& what) {
    return Status(Code::kInvalidArgument, std::string(file) + ": " + what);
  };
  const Result<Json> root = internal::ParseJson(text);
  if (!root.ok()) return wrong(std::string(root.status().message()));
  const Json& map = Field(*root, "weight_map");
  if (!map.is_object() || map.empty()) return wrong("has no weight_map");
  std::set<std::string> files;
  for (const auto& [tensor, value] : map.items()) {
    const std::string* name = AsString(value);
    if (name == nullptr || !IsPlainName(*name)) {
      return wrong("tensor " + Name(tensor) + " is in no file of this folder");
    }
    files.insert(*name);
  }
  return std::vector<std::string>(files.begin(), files.end());
}

}  // namespace shoal::llm
