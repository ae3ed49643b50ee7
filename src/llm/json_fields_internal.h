// Looking into JSON that someone else wrote: no field need be there or be what it should.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace shoal::llm::internal {

using Json = nlohmann::json;

// kInvalidArgument, with the parser's words, which tell line and column.
Result<Json> ParseJson(std::string_view text);

// The field of an object; null if `object` is none or lacks it.
const Json& Field(const Json& object, std::string_view name);

// The value if it is of that type.
const std::string* AsString(const Json& value);
std::optional<bool> AsBool(const Json& value);

}  // namespace shoal::llm::internal
