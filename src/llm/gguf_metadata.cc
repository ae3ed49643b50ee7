#include "llm/gguf_metadata.h"

#include <bit>
#include <limits>
#include <optional>

#include "wire/little_endian.h"

namespace shoal::llm {
namespace {

constexpr std::string_view kInteger = "an integer";
constexpr std::string_view kFloat = "a float";

// The bits of element `i`, sign-extended by the caller.
std::uint64_t Bits(const GgufValue& value, std::size_t i) {
  const std::size_t size = FixedSize(value.type);
  return wire::LoadLittleEndian(value.numbers.subspan(i * size, size));
}

// Nothing if the element is no integer, or larger than an int64_t.
std::optional<std::int64_t> Integer(const GgufValue& value, std::size_t i) {
  const auto narrow = [&]<class T>(T) {
    return static_cast<std::int64_t>(static_cast<T>(Bits(value, i)));
  };
  switch (value.type) {
    case GgufType::kU8:
      return narrow(std::uint8_t{});
    case GgufType::kI8:
      return narrow(std::int8_t{});
    case GgufType::kU16:
      return narrow(std::uint16_t{});
    case GgufType::kI16:
      return narrow(std::int16_t{});
    case GgufType::kU32:
      return narrow(std::uint32_t{});
    case GgufType::kI32:
      return narrow(std::int32_t{});
    case GgufType::kI64:
      return narrow(std::int64_t{});
    case GgufType::kU64:
      if (Bits(value, i) >> 63U != 0) return std::nullopt;
      return narrow(std::int64_t{});
    default:
      return std::nullopt;
  }
}

std::optional<float> Float(const GgufValue& value, std::size_t i) {
  if (value.type == GgufType::kF32) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(Bits(value, i)));
  }
  if (value.type != GgufType::kF64) return std::nullopt;
  const double wide = std::bit_cast<double>(Bits(value, i));
  // What a float cannot hold is no conversion that C++ defines.
  constexpr double kLargest = std::numeric_limits<float>::max();
  if (wide > kLargest || wide < -kLargest) return std::nullopt;
  return static_cast<float>(wide);
}

// Of a Get: the value, or `otherwise` for a key that is not there.
template <class T>
Result<T> Or(Result<T> found, T otherwise) {
  if (!found.ok() && found.status().code() == Code::kNotFound) return otherwise;
  return found;
}

}  // namespace

std::string GgufValue::Describe() const {
  const std::string name(Name(type));
  return is_array ? "an array of " + std::to_string(count) + " " + name : name;
}

Result<GgufMetadata> GgufMetadata::Make(std::string_view file, std::vector<GgufEntry> entries) {
  std::vector<std::string_view> keys;
  keys.reserve(entries.size());
  for (const GgufEntry& entry : entries) keys.push_back(entry.key);
  GgufMetadata metadata;
  metadata.file_ = file;
  metadata.entries_ = std::move(entries);
  metadata.by_key_ = NameIndex(keys);
  if (const auto twice = metadata.by_key_.Duplicate()) {
    return Status(Code::kCorruption, "key \"" + std::string(*twice) + "\" is there twice");
  }
  return metadata;
}

const GgufValue* GgufMetadata::Find(std::string_view key) const {
  const auto found = by_key_.Find(key);
  return found ? &entries_[*found].value : nullptr;
}

Status GgufMetadata::Mismatch(std::string_view key, const GgufValue& value,
                              std::string_view wanted) const {
  return Status(Code::kCorruption, file_ + ": key \"" + std::string(key) + "\" is " +
                                       value.Describe() + "; wanted " + std::string(wanted));
}

Result<const GgufValue*> GgufMetadata::FindKind(std::string_view key, bool is_array,
                                                std::string_view wanted) const {
  const GgufValue* value = Find(key);
  if (value == nullptr) {
    return Status(Code::kNotFound, file_ + ": has no key \"" + std::string(key) + "\"");
  }
  if (value->is_array != is_array) return Mismatch(key, *value, wanted);
  return value;
}

Result<std::int64_t> GgufMetadata::GetSigned(std::string_view key) const {
  SHOAL_ASSIGN_OR_RETURN(const GgufValue* value, FindScalar(key, kInteger));
  const auto number = Integer(*value, 0);
  if (!number) return Mismatch(key, *value, kInteger);
  return *number;
}

Result<std::uint64_t> GgufMetadata::GetUnsigned(std::string_view key) const {
  SHOAL_ASSIGN_OR_RETURN(const std::int64_t number, GetSigned(key));
  if (number < 0) {
    return Status(Code::kCorruption, file_ + ": key \"" + std::string(key) + "\" is " +
                                         std::to_string(number) + "; wanted 0 or more");
  }
  return static_cast<std::uint64_t>(number);
}

Result<float> GgufMetadata::GetFloat(std::string_view key) const {
  SHOAL_ASSIGN_OR_RETURN(const GgufValue* value, FindScalar(key, kFloat));
  const auto number = Float(*value, 0);
  if (!number) return Mismatch(key, *value, kFloat);
  return *number;
}

Result<bool> GgufMetadata::GetBool(std::string_view key) const {
  SHOAL_ASSIGN_OR_RETURN(const GgufValue* value, FindScalar(key, "a bool"));
  if (value->type != GgufType::kBool) return Mismatch(key, *value, "a bool");
  return Bits(*value, 0) != 0;
}

Result<std::string_view> GgufMetadata::GetString(std::string_view key) const {
  SHOAL_ASSIGN_OR_RETURN(const GgufValue* value, FindScalar(key, "a string"));
  if (value->type != GgufType::kString) return Mismatch(key, *value, "a string");
  return value->strings[0];
}

Result<std::span<const std::string_view>> GgufMetadata::GetStrings(std::string_view key) const {
  constexpr std::string_view kWanted = "an array of strings";
  SHOAL_ASSIGN_OR_RETURN(const GgufValue* value, FindKind(key, true, kWanted));
  if (value->type != GgufType::kString) return Mismatch(key, *value, kWanted);
  return std::span<const std::string_view>(value->strings);
}

Result<std::vector<std::int64_t>> GgufMetadata::GetIntegers(std::string_view key) const {
  constexpr std::string_view kWanted = "an array of integers";
  SHOAL_ASSIGN_OR_RETURN(const GgufValue* value, FindKind(key, true, kWanted));
  std::vector<std::int64_t> numbers;
  numbers.reserve(value->count);
  for (std::size_t i = 0; i < value->count; ++i) {
    const auto number = Integer(*value, i);
    if (!number) return Mismatch(key, *value, kWanted);
    numbers.push_back(*number);
  }
  return numbers;
}

Result<std::vector<float>> GgufMetadata::GetFloats(std::string_view key) const {
  constexpr std::string_view kWanted = "an array of floats";
  SHOAL_ASSIGN_OR_RETURN(const GgufValue* value, FindKind(key, true, kWanted));
  std::vector<float> numbers;
  numbers.reserve(value->count);
  for (std::size_t i = 0; i < value->count; ++i) {
    const auto number = Float(*value, i);
    if (!number) return Mismatch(key, *value, kWanted);
    numbers.push_back(*number);
  }
  return numbers;
}

Result<std::uint64_t> GgufMetadata::GetUnsignedOr(std::string_view key,
                                                  std::uint64_t otherwise) const {
  return Or(GetUnsigned(key), otherwise);
}

Result<float> GgufMetadata::GetFloatOr(std::string_view key, float otherwise) const {
  return Or(GetFloat(key), otherwise);
}

Result<bool> GgufMetadata::GetBoolOr(std::string_view key, bool otherwise) const {
  return Or(GetBool(key), otherwise);
}

Result<std::string_view> GgufMetadata::GetStringOr(std::string_view key,
                                                   std::string_view otherwise) const {
  return Or(GetString(key), otherwise);
}

}  // namespace shoal::llm
