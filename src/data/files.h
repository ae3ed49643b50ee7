// The files of a data set. Every failure names the path and says what the system
// said. (os/file.h does this for the program's own files; os/ is above this module.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace shoal::data {

// "no such file or directory: /x", from an errno value.
Status FileError(int error, const std::string& path);

// A regular file open for reading. Thread-safe: it has no position.
class InputFile {
 public:
  static Result<InputFile> Open(const std::string& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  const std::string& path() const { return path_; }
  std::int64_t size() const { return size_; }
  // Fills `out` from `offset`. kCorruption: the file ends before that.
  Status ReadAt(std::int64_t offset, std::span<std::uint8_t> out) const;

 private:
  InputFile(std::string path, int fd, std::int64_t size)
      : path_(std::move(path)), fd_(fd), size_(size) {}

  std::string path_;
  int fd_ = -1;
  std::int64_t size_ = 0;
};

// The bytes of a regular file. kResourceExhausted: it has more than `bytes_max`.
Result<std::string> ReadWholeFile(const std::string& path, std::int64_t bytes_max);

// Makes what was put into a directory, or renamed there, survive a power cut.
Status SyncDirectory(const std::string& path);

// The names in a directory, sorted byte by byte so that every machine agrees.
// kResourceExhausted: there are more than kDirectoryEntriesMax.
struct DirectoryNames {
  std::vector<std::string> files;
  std::vector<std::string> directories;
};
Result<DirectoryNames> ListNames(const std::string& path);
// Ten times ImageNet's training set, in one directory.
inline constexpr std::size_t kDirectoryEntriesMax = std::size_t{1} << 24U;

}  // namespace shoal::data
