#include "os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <memory>
#include <system_error>
#include <utility>

#include "os/file_internal.h"

namespace shoal::os {
namespace {

Code CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return Code::kNotFound;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return Code::kResourceExhausted;
    case EINVAL:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
      return Code::kInvalidArgument;
    default:
      return Code::kUnavailable;
  }
}

mode_t ModeOf(FileAccess access) {
  if (access == FileAccess::kOwner) return S_IRUSR | S_IWUSR;
  return S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;
}

}  // namespace

Status WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = Retry([&] { return ::write(fd, bytes.data(), bytes.size()); });
    if (n < 0) return ErrnoStatus(errno, path);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Status SyncDirectoryOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory =
      slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
  const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, directory);
  // EINVAL: a file system that has no such notion (a phone's shared storage).
  if (Retry([&] { return ::fsync(fd.get()); }) != 0 && errno != EINVAL) {
    return ErrnoStatus(errno, directory);
  }
  return {};
}

Status ErrnoStatus(int error, std::string_view path) {
  std::string text = std::generic_category().message(error);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] += 'a' - 'A';
  return Status(CodeOf(error), text + ": " + std::string(path));
}

Result<std::string> ReadFile(const std::string& path, std::size_t bytes_max) {
  SHOAL_ASSIGN_OR_RETURN(File file, File::Open(path));
  constexpr std::size_t kGrowth = std::size_t{64} << 10U;  // A file of /proc does not say its size.
  std::string bytes;
  std::size_t filled = 0;
  std::uint64_t wanted = std::max<std::uint64_t>(file.size(), kGrowth);
  while (true) {
    if (filled == bytes.size()) {
      // One more than expected, to see the end, or that there is more than allowed.
      bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(wanted, bytes_max)) + 1);
      wanted = bytes.size() + kGrowth;
    }
    SHOAL_ASSIGN_OR_RETURN(const std::size_t n,
                           file.Read(std::as_writable_bytes(std::span(bytes)).subspan(filled)));
    filled += n;
    if (n == 0) break;
    if (filled > bytes_max) {
      return Status(Code::kResourceExhausted,
                    "larger than " + std::to_string(bytes_max) + " bytes: " + path);
    }
  }
  bytes.resize(filled);
  return bytes;
}

Status WriteFileAtomically(const std::string& path, std::string_view bytes, FileAccess access) {
  SHOAL_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path, access));
  SHOAL_RETURN_IF_ERROR(file.Write(bytes));
  return file.Commit();
}

Result<AtomicFile> AtomicFile::Create(const std::string& path, FileAccess access) {
  std::string temporary = path + ".tmpXXXXXX";
  UniqueFd fd(::mkstemp(temporary.data()));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  AtomicFile file(path, std::move(temporary), std::move(fd));
  if (::fchmod(file.fd_.get(), ModeOf(access)) != 0) return ErrnoStatus(errno, path);
  return file;
}

AtomicFile::~AtomicFile() {
  if (fd_.valid()) ::unlink(temporary_.c_str());
}

Status AtomicFile::Write(std::string_view bytes) { return WriteAll(fd_.get(), bytes, path_); }

Status AtomicFile::Commit() {
  SHOAL_CHECK(fd_.valid());
  if (Retry([&] { return ::fsync(fd_.get()); }) != 0) return ErrnoStatus(errno, path_);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return ErrnoStatus(errno, path_);
  fd_ = UniqueFd();  // Closes it when the temporary that it is swapped into ends.
  return SyncDirectoryOf(path_);
}

Result<std::vector<std::string>> ListDirectory(const std::string& path) {
  struct Closer {
    void operator()(DIR* dir) const { ::closedir(dir); }
  };
  const std::unique_ptr<DIR, Closer> directory(::opendir(path.c_str()));
  if (directory == nullptr) return ErrnoStatus(errno, path);
  std::vector<std::string> names;
  while (true) {
    errno = 0;  // readdir tells the end from a failure by errno alone.
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr && errno != 0) return ErrnoStatus(errno, path);
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == kDirectoryEntriesMax) {
      return Status(Code::kResourceExhausted, "too many entries: " + path);
    }
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::uint64_t> FreeSpace(const std::string& path) {
  struct statvfs info {};
  if (Retry([&] { return ::statvfs(path.c_str(), &info); }) != 0) return ErrnoStatus(errno, path);
  return std::uint64_t{info.f_bavail} * info.f_frsize;
}

Result<File> File::Open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer; regular files ignore it.
  UniqueFd fd(Retry([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, path);
  if (!S_ISREG(info.st_mode)) {
    return Status(Code::kInvalidArgument, "not a regular file: " + path);
  }
  return File(path, std::move(fd), static_cast<std::uint64_t>(info.st_size));
}

Result<std::size_t> File::Read(std::span<std::byte> out) {
  const ssize_t n = Retry([&] { return ::read(fd_.get(), out.data(), out.size()); });
  if (n < 0) return ErrnoStatus(errno, path_);
  return static_cast<std::size_t>(n);
}

Status File::ReadAt(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > std::uint64_t{std::numeric_limits<off_t>::max()} - out.size()) {
    return Status(Code::kCorruption, "offset beyond any file: " + path_);
  }
  while (!out.empty()) {
    const ssize_t n = Retry(
        [&] { return ::pread(fd_.get(), out.data(), out.size(), static_cast<off_t>(offset)); });
    if (n < 0) return ErrnoStatus(errno, path_);
    if (n == 0) {
      return Status(Code::kCorruption,
                    "ends before byte " + std::to_string(offset + out.size()) + ": " + path_);
    }
    offset += static_cast<std::uint64_t>(n);
    out = out.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace shoal::os
