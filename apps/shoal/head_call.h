// A question to the head that runs on this machine, over its admin door.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

#include "base/status.h"

namespace shoal {

// The JSON object that it answers with. `dir`: the cluster's directory; empty: the usual one. GET
// without a body, else POST. kUnavailable: no head runs there, or it does not answer;
// kInvalidArgument: what it says against the question.
Result<nlohmann::json> CallHead(const std::string& dir, const std::string& path,
                                const std::optional<std::string>& body = std::nullopt);

}  // namespace shoal
