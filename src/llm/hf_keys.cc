#include <algorithm>
#include <limits>

#include "llm/hf_keys_internal.h"
#include "llm/token_index.h"

namespace shoal::llm::internal {

Result<std::int64_t> HfKeys::Extent(std::string_view key, std::uint64_t most,
                                    std::optional<std::int64_t> otherwise,
                                    std::uint64_t least) const {
  if (!Has(key)) {
    if (otherwise) return *otherwise;
    return Missing(key);
  }
  const auto* number = Value(key).get_ptr<const Json::number_unsigned_t*>();
  const std::string wanted =
      "; wanted a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  if (number == nullptr) return Wrong(key, "is a " + std::string(Value(key).type_name()) + wanted);
  if (*number < least || *number > most) {
    return Wrong(key, "is " + std::to_string(*number) + wanted);
  }
  return static_cast<std::int64_t>(*number);
}

Result<float> HfKeys::Positive(std::string_view key, std::optional<float> otherwise) const {
  if (!Has(key)) {
    if (otherwise) return *otherwise;
    return Missing(key);
  }
  const Json& value = Value(key);
  const double number = value.is_number() ? value.get<double>() : 0.0;
  const auto rounded =
      static_cast<float>(std::min(number, static_cast<double>(std::numeric_limits<float>::max())));
  if (rounded > 0) return rounded;
  return Wrong(key, "is not a number above 0");
}

Result<bool> HfKeys::Flag(std::string_view key, bool otherwise) const {
  if (!Has(key)) return otherwise;
  const std::optional<bool> value = AsBool(Value(key));
  if (value) return *value;
  return Wrong(key, "is neither true nor false");
}

Result<std::string> HfKeys::Text(std::string_view key, std::optional<std::string> otherwise) const {
  if (!Has(key)) {
    if (otherwise) return *std::move(otherwise);
    return Missing(key);
  }
  const std::string* value = AsString(Value(key));
  if (value != nullptr) return *value;
  return Wrong(key, "is not a text");
}

Status HfKeys::Wrong(std::string_view key, const std::string& what) const {
  return Status(Code::kCorruption, file_ + ": \"" + std::string(key) + "\" " + what);
}

Status HfKeys::Unsupported(std::string_view key, std::string_view value,
                           std::string_view supported) const {
  return Status(Code::kInvalidArgument, file_ + ": " + std::string(key) + " " + Quoted(value) +
                                            " is not supported; supported are " +
                                            std::string(supported));
}

Status HfKeys::Missing(std::string_view key) const {
  return Status(Code::kNotFound, file_ + ": has no \"" + std::string(key) + "\"");
}

}  // namespace shoal::llm::internal
