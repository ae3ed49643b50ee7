// Options that are for one of several nodes: "2=--target ref".
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace shoal {

std::vector<std::string> Words(const std::string& text);

using WordsByNode = std::map<std::size_t, std::vector<std::string>>;

// "2=several words", for nodes by their numbers, from 1 to `nodes`. kInvalidArgument: names
// `option`.
Result<WordsByNode> ParseByNode(const char* option, const std::vector<std::string>& texts,
                                std::size_t nodes);

}  // namespace shoal
