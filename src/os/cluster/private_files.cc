#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "os/cluster/private_files_internal.h"
#include "os/file.h"

namespace shoal::os {

Status MakePrivateDirectory(const std::string& path) {
  constexpr mode_t kOwnerOnly = S_IRWXU;
  if (path.empty()) return {Code::kInvalidArgument, "the directory has no name"};
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), kOwnerOnly) != 0) {
      const int error = errno;
      struct stat info {};
      const bool is_there = ::stat(part.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
      if (!is_there) return ErrnoStatus(error, part);
    }
    if (end == std::string::npos) return {};
  }
}

Result<std::string> ReadClusterFile(const std::string& path, std::string_view remedy) {
  Result<std::string> text = ReadFile(path, kClusterFileBytesMax);
  if (text.ok()) return text;
  const Code code = text.status().code();
  return Status(code == Code::kNotFound ? Code::kCorruption : code,
                std::string(text.status().message()) + "; " + std::string(remedy));
}

Status WriteClusterFile(const std::string& path, std::string_view text) {
  if (text.size() > kClusterFileBytesMax) {
    return {Code::kResourceExhausted, "grows too large: " + path};
  }
  return WriteFileAtomically(path, text, FileAccess::kOwner);
}

Status Damaged(const std::string& path, const Status& why, std::string_view remedy) {
  return {Code::kCorruption,
          path + " is damaged (" + std::string(why.message()) + "); " + std::string(remedy)};
}

bool FileExists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

}  // namespace shoal::os
