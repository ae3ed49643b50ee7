// What is in the head's report (docs/api.md) by name. The report comes from another process, maybe
// of another version: whatever is not there, or is something else, is unknown.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace shoal {

// Nothing: it has no number, truth value or text of that name.
std::optional<double> NumberAt(const nlohmann::json& object, const char* name);
std::optional<bool> FlagAt(const nlohmann::json& object, const char* name);
// Without control characters, which would do things to a terminal; empty: it has none.
std::string TextAt(const nlohmann::json& object, const char* name);
// An object, and the objects of a list; empty: there are none.
nlohmann::json ObjectAt(const nlohmann::json& object, const char* name);
std::vector<nlohmann::json> ListAt(const nlohmann::json& object, const char* name);
std::vector<std::string> TextsAt(const nlohmann::json& object, const char* name);

// "node 7 (kitchen)"
std::string NodeName(const nlohmann::json& node);

}  // namespace shoal
