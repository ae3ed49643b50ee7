// nodes.json and tokens.json as values. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "os/cluster/head_directory.h"

namespace shoal::os {

struct NodeList {
  std::uint64_t next_id = 2;  // Ids are never given twice, even if a record is removed.
  std::vector<MemberRecord> nodes;
};

struct TokenRecord {
  std::string secret_sha256;  // Hexadecimal. The secret itself is not kept anywhere.
  UnixTime expires_at = 0;
  std::uint64_t uses_left = 0;
};

std::string FormatNodeList(const NodeList& list);
std::string FormatTokenList(const std::vector<TokenRecord>& tokens);

// kCorruption: the message says what is wrong, and where.
Result<NodeList> ParseNodeList(const std::string& text);
Result<std::vector<TokenRecord>> ParseTokenList(const std::string& text);

}  // namespace shoal::os
