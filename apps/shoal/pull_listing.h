// What Hugging Face says is in a repository, and how users name one. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace shoal {

struct RemoteFile {
  std::string path;  // In the repository.
  std::uint64_t size = 0;
  std::string sha256;  // Of large files; empty if the listing does not say.
  bool operator==(const RemoteFile&) const = default;
};

// The answer of /api/models/OWNER/NAME/tree/REVISION. kCorruption: not such an answer.
Result<std::vector<RemoteFile>> ParseListing(const std::string& json);

// Where the listing goes on, from its Link header; empty: it is complete.
std::string NextPage(std::string_view link_header);

struct RepositoryId {
  std::string owner;
  std::string name;
  std::string file;  // A path or a quantisation; empty: not said.
  std::string ToString() const { return owner + "/" + name; }
};

// "OWNER/NAME" or "OWNER/NAME:FILE". kInvalidArgument: something else.
Result<RepositoryId> ParseRepositoryId(std::string_view text);

}  // namespace shoal
