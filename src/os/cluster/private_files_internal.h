// How both kinds of cluster directories read and write their files.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace shoal::os {

// Far above a list of a hundred thousand members.
inline constexpr std::size_t kClusterFileBytesMax = std::size_t{64} << 20;

// Makes `path` and what is missing above it, for the owner only. One that exists is
// left as it is.
Status MakePrivateDirectory(const std::string& path);

// Reads a file that must be there. A failure names it and ends in `remedy`, what to do;
// kCorruption: it is not there.
Result<std::string> ReadClusterFile(const std::string& path, std::string_view remedy);

// Writes one atomically, for the owner only.
Status WriteClusterFile(const std::string& path, std::string_view text);

// The same failure as kCorruption: "PATH is damaged (why); remedy".
Status Damaged(const std::string& path, const Status& why, std::string_view remedy);

// False only if the system says that nothing is there.
bool FileExists(const std::string& path);

}  // namespace shoal::os
