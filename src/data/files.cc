#include "data/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace shoal::data {
namespace {

Code CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return Code::kNotFound;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return Code::kResourceExhausted;
    case EINVAL:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EEXIST:
      return Code::kInvalidArgument;
    default:
      return Code::kUnavailable;
  }
}

}  // namespace

Status FileError(int error, const std::string& path) {
  std::string text = std::generic_category().message(error);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] += 'a' - 'A';
  return Status(CodeOf(error), text + ": " + path);
}

Result<InputFile> InputFile::Open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer; regular files ignore it.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return FileError(errno, path);
  InputFile file(path, fd, 0);
  struct stat info {};
  if (::fstat(fd, &info) != 0) return FileError(errno, path);
  if (!S_ISREG(info.st_mode)) {
    return Status(Code::kInvalidArgument, "not a regular file: " + path);
  }
  file.size_ = info.st_size;
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  return *this;
}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status InputFile::ReadAt(std::int64_t offset, std::span<std::uint8_t> out) const {
  while (!out.empty()) {
    const ssize_t n = ::pread(fd_, out.data(), out.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError(errno, path_);
    if (n == 0) {
      return Status(Code::kCorruption, "ends at byte " + std::to_string(offset) + ": " + path_);
    }
    offset += n;
    out = out.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

Result<std::string> ReadWholeFile(const std::string& path, std::int64_t bytes_max) {
  SHOAL_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  if (file.size() > bytes_max) {
    return Status(Code::kResourceExhausted,
                  "larger than " + std::to_string(bytes_max) + " bytes: " + path);
  }
  std::string bytes(static_cast<std::size_t>(file.size()), '\0');
  SHOAL_RETURN_IF_ERROR(
      file.ReadAt(0, std::span(reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size())));
  return bytes;
}

Status SyncDirectory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return FileError(errno, path);
  int result = ::fsync(fd);
  while (result != 0 && errno == EINTR) result = ::fsync(fd);
  // EINVAL: a file system that has no such notion (a phone's shared storage).
  Status status = result != 0 && errno != EINVAL ? FileError(errno, path) : Status();
  ::close(fd);
  return status;
}

Result<DirectoryNames> ListNames(const std::string& path) {
  namespace fs = std::filesystem;
  DirectoryNames names;
  std::error_code error;
  fs::directory_iterator entry(path, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (names.files.size() + names.directories.size() == kDirectoryEntriesMax) {
      return Status(Code::kResourceExhausted, "too many entries: " + path);
    }
    std::error_code unreadable;  // A dangling link is neither a file nor a directory.
    if (entry->is_directory(unreadable)) {
      names.directories.push_back(entry->path().filename().string());
    } else if (entry->is_regular_file(unreadable)) {
      names.files.push_back(entry->path().filename().string());
    }
  }
  if (error) return FileError(error.value(), path);
  std::sort(names.files.begin(), names.files.end());
  std::sort(names.directories.begin(), names.directories.end());
  return names;
}

}  // namespace shoal::data
