#include <algorithm>

#include "llm/json_fields_internal.h"

namespace shoal::llm::internal {
namespace {

// How deep brackets are in each other; those of texts do not count.
std::size_t DepthOf(std::string_view text) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

Result<Json> ParseJson(std::string_view text) {
  if (DepthOf(text) > kMaxJsonDepth) {
    return Status(Code::kInvalidArgument,
                  "lists and objects are more than " + std::to_string(kMaxJsonDepth) + " deep");
  }
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
