// FileLock: at most one process holds the lock of a path. The kernel lets go of it when
// the process ends, however it ends; the file stays and means nothing by itself.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"
#include "base/time.h"
#include "os/unique_fd.h"

namespace shoal::os {

class FileLock {
 public:
  // Makes the file if there is none, and blocks the thread for at most `patience`.
  // kUnavailable: somebody else holds it. Other codes: the file cannot be made.
  static Result<FileLock> Take(const std::string& path, Duration patience);

 private:
  explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;  // Closing it gives the lock back.
};

}  // namespace shoal::os
