// Looking into JSON that someone else wrote: no field need be there or be what it should.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace shoal::llm::internal {

using Json = nlohmann::json;

// Deeper than any file we read, of which chat templates' tools are the deepest.
inline constexpr std::size_t kMaxJsonDepth = 128;

// kInvalidArgument, with the parser's words, which tell line and column; or lists and objects in
// each other deeper than kMaxJsonDepth, which would only cost memory.
Result<Json> ParseJson(std::string_view text);

// The field of an object; null if `object` is none or lacks it.
const Json& Field(const Json& object, std::string_view name);

// The value if it is of that type.
const std::string* AsString(const Json& value);
std::optional<bool> AsBool(const Json& value);

}  // namespace shoal::llm::internal
