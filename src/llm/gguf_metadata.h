// What a GGUF file says about its model: values by key, e.g. "llama.block_count".
//
// Everything refers to the file's bytes, which the owner of the mapping keeps. Thread-safe: nothing
// changes after the file is parsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "llm/gguf_types.h"
#include "llm/name_index.h"

namespace shoal::llm {

// One value, or an array of values of one type. Arrays of arrays do not exist.
struct GgufValue {
  GgufType type = GgufType::kU8;  // Of each element; never kArray.
  bool is_array = false;
  std::uint64_t count = 1;
  std::span<const std::byte> numbers;     // `count` of FixedSize(type) bytes; empty for strings.
  std::vector<std::string_view> strings;  // `count` of them; empty for numbers.
  std::span<const std::byte> encoded;     // As in the file, from the type on: for copying.

  // "an array of 32000 strings", "u32".
  std::string Describe() const;
};

struct GgufEntry {
  std::string_view key;
  GgufValue value;
};

class GgufMetadata {
 public:
  GgufMetadata() = default;
  // `file` is a name for the messages of Get. kCorruption: a key is there twice.
  static Result<GgufMetadata> Make(std::string_view file, std::vector<GgufEntry> entries);

  const std::string& file() const { return file_; }
  // In the order of the file.
  std::span<const GgufEntry> entries() const { return entries_; }
  // Null if there is none.
  const GgufValue* Find(std::string_view key) const;
  bool Has(std::string_view key) const { return Find(key) != nullptr; }

  // kNotFound: no such key. kCorruption: the value is of another kind, which the message names.
  // A number may be stored in any width that has the same meaning: files differ there.
  Result<std::uint64_t> GetUnsigned(std::string_view key) const;  // Not negative.
  Result<std::int64_t> GetSigned(std::string_view key) const;
  Result<float> GetFloat(std::string_view key) const;
  Result<bool> GetBool(std::string_view key) const;
  Result<std::string_view> GetString(std::string_view key) const;
  // Arrays. The views live as long as the mapping, the span as long as this object.
  Result<std::span<const std::string_view>> GetStrings(std::string_view key) const;
  Result<std::vector<std::int64_t>> GetIntegers(std::string_view key) const;
  Result<std::vector<float>> GetFloats(std::string_view key) const;

  // The same, and `otherwise` if the key is not there.
  Result<std::uint64_t> GetUnsignedOr(std::string_view key, std::uint64_t otherwise) const;
  Result<float> GetFloatOr(std::string_view key, float otherwise) const;
  Result<bool> GetBoolOr(std::string_view key, bool otherwise) const;
  Result<std::string_view> GetStringOr(std::string_view key, std::string_view otherwise) const;

 private:
  // The value of `key` if it is or is not an array, as `is_array` wants.
  Result<const GgufValue*> FindKind(std::string_view key, bool is_array,
                                    std::string_view wanted) const;
  Status Mismatch(std::string_view key, const GgufValue& value, std::string_view wanted) const;
  Result<const GgufValue*> FindScalar(std::string_view key, std::string_view wanted) const {
    return FindKind(key, false, wanted);
  }

  std::string file_;
  std::vector<GgufEntry> entries_;
  NameIndex by_key_;
};

}  // namespace shoal::llm
