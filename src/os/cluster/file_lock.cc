#include "os/cluster/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "os/file.h"

namespace shoal::os {

// Tries again and again: flock's own waiting has no limit, and a holder may be a process
// that somebody has stopped.
Result<FileLock> FileLock::Take(const std::string& path, Duration patience) {
  constexpr auto kPause = std::chrono::milliseconds(5);
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  for (Duration waited{0};; waited += kPause) {
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return FileLock(std::move(fd));
    if (errno != EWOULDBLOCK && errno != EINTR) return ErrnoStatus(errno, path);
    if (waited >= patience) {
      return Status(Code::kUnavailable, "another process holds the lock " + path);
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace shoal::os
