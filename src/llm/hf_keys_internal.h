// HfKeys: the keys of an object in config.json, each within limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "llm/json_fields_internal.h"

namespace shoal::llm::internal {

// Refers to `object`, which need not be one: then no key is there. A key that is null counts as
// missing, as files have it.
class HfKeys {
 public:
  HfKeys(std::string file, const Json& object) : file_(std::move(file)), object_(&object) {}

  const std::string& file() const { return file_; }
  bool Has(std::string_view key) const { return !Field(*object_, key).is_null(); }
  HfKeys Object(std::string_view key) const { return HfKeys(file_, Field(*object_, key)); }
  const Json& Value(std::string_view key) const { return Field(*object_, key); }

  // From `least` to `most`. Without the key: `otherwise`, or kNotFound if there is none.
  Result<std::int64_t> Extent(std::string_view key, std::uint64_t most,
                              std::optional<std::int64_t> otherwise = std::nullopt,
                              std::uint64_t least = 1) const;
  // A number above 0.
  Result<float> Positive(std::string_view key, std::optional<float> otherwise = std::nullopt) const;
  Result<bool> Flag(std::string_view key, bool otherwise) const;
  Result<std::string> Text(std::string_view key,
                           std::optional<std::string> otherwise = std::nullopt) const;

  // kCorruption: what is said of `key`.
  Status Wrong(std::string_view key, const std::string& what) const;
  // kInvalidArgument: `key` has a value that we do not have.
  Status Unsupported(std::string_view key, std::string_view value,
                     std::string_view supported) const;

 private:
  Status Missing(std::string_view key) const;

  std::string file_;
  const Json* object_;
};

}  // namespace shoal::llm::internal
