#include "llm/json_fields_internal.h"

namespace shoal::llm::internal {

Result<Json> ParseJson(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    return Status(Code::kInvalidArgument, error.what());
  }
}

const Json& Field(const Json& object, std::string_view name) {
  static const Json null;
  if (!object.is_object()) return null;
  const auto found = object.find(name);
  return found == object.end() ? null : *found;
}

const std::string* AsString(const Json& value) { return value.get_ptr<const std::string*>(); }

std::optional<bool> AsBool(const Json& value) {
  const auto* found = value.get_ptr<const bool*>();
  return found == nullptr ? std::nullopt : std::optional<bool>(*found);
}

}  // namespace shoal::llm::internal
