#include "os/resumable_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

#include "base/check.h"
#include "os/file.h"
#include "os/file_internal.h"

namespace shoal::os {

Result<ResumableFile> ResumableFile::Open(const std::string& path) {
  constexpr mode_t kMode = S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;
  // O_NONBLOCK: opening a FIFO must not wait for a reader; regular files ignore it.
  constexpr int kFlags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK;
  UniqueFd fd(Retry([&] { return ::open(path.c_str(), kFlags, kMode); }));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, path);
  if (!S_ISREG(info.st_mode)) return Status(Code::kInvalidArgument, "not a regular file: " + path);
  // Ends with the process, also when it is killed. A phone's shared storage may have no
  // locks (another errno): then two processes are the user's own fault.
  if (Retry([&] { return ::flock(fd.get(), LOCK_EX | LOCK_NB); }) != 0 && errno == EWOULDBLOCK) {
    return Status(Code::kUnavailable, "another process is writing it: " + path);
  }
  return ResumableFile(path, std::move(fd), static_cast<std::uint64_t>(info.st_size));
}

Status ResumableFile::Append(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  SHOAL_RETURN_IF_ERROR(WriteAll(fd_.get(), text, path_));
  size_ += bytes.size();
  return {};
}

Status ResumableFile::CutTo(std::uint64_t bytes) {
  SHOAL_CHECK(bytes <= size_);
  if (Retry([&] { return ::ftruncate(fd_.get(), static_cast<off_t>(bytes)); }) != 0) {
    return ErrnoStatus(errno, path_);
  }
  size_ = bytes;
  return {};
}

Status ResumableFile::MoveTo(const std::string& path) {
  if (Retry([&] { return ::fsync(fd_.get()); }) != 0) return ErrnoStatus(errno, path_);
  if (std::rename(path_.c_str(), path.c_str()) != 0) return ErrnoStatus(errno, path);
  return SyncDirectoryOf(path);
}

Status ResumableFile::Remove() {
  if (::unlink(path_.c_str()) != 0) return ErrnoStatus(errno, path_);
  return {};
}

}  // namespace shoal::os
