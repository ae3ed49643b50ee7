#include "shoal/pull_listing.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <utility>

namespace shoal {
namespace {

bool IsIdPart(std::string_view text) {
  return !text.empty() && text != "." && text != ".." &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
         });
}

}  // namespace

Result<std::vector<RemoteFile>> ParseListing(const std::string& json) {
  const Status wrong(Code::kCorruption, "the server's answer is not a list of files");
  const auto list = nlohmann::json::parse(json, nullptr, false);
  if (!list.is_array()) return wrong;
  std::vector<RemoteFile> files;
  for (const auto& entry : list) {
    if (!entry.is_object() || !entry.contains("path") || !entry["path"].is_string()) return wrong;
    if (!entry.contains("type") || entry["type"] != "file") continue;
    if (!entry.contains("size") || !entry["size"].is_number_unsigned()) return wrong;
    RemoteFile file{.path = entry["path"], .size = entry["size"], .sha256 = {}};
    if (entry.contains("lfs") && entry["lfs"].is_object()) {
      const auto& lfs = entry["lfs"];
      if (lfs.contains("oid") && lfs["oid"].is_string()) file.sha256 = lfs["oid"];
      if (lfs.contains("size") && lfs["size"].is_number_unsigned()) file.size = lfs["size"];
    }
    files.push_back(std::move(file));
  }
  return files;
}

std::string NextPage(std::string_view link_header) {
  const std::size_t open = link_header.find('<');
  const std::size_t close = link_header.find('>');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  if (link_header.substr(close).find("rel=\"next\"") == std::string_view::npos) return {};
  return std::string(link_header.substr(open + 1, close - open - 1));
}

Result<RepositoryId> ParseRepositoryId(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view path = text.substr(0, colon);
  const std::size_t slash = path.find('/');
  RepositoryId id;
  if (slash != std::string_view::npos) {
    id.owner = path.substr(0, slash);
    id.name = path.substr(slash + 1);
  }
  if (colon != std::string_view::npos) id.file = text.substr(colon + 1);
  if (!IsIdPart(id.owner) || !IsIdPart(id.name) ||
      (colon != std::string_view::npos && id.file.empty())) {
    return Status(Code::kInvalidArgument,
                  "\"" + std::string(text) +
                      "\" is neither a URL nor OWNER/NAME or OWNER/NAME:FILE of Hugging Face");
  }
  return id;
}

}  // namespace shoal
