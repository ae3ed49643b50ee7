// What the kinds of files in os/ share.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>

#include "base/status.h"

namespace shoal::os {

// Repeats a system call that a signal interrupted.
template <class Call>
auto Retry(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// A failure names `path`.
Status WriteAll(int fd, std::string_view bytes, const std::string& path);

// Makes a rename in the directory of `path` survive a power cut.
Status SyncDirectoryOf(const std::string& path);

}  // namespace shoal::os
