// Files: whole reads with a limit, atomic writes, positional reads, directories.
// Every failure names the path and says what the system said: "permission denied:
// /sys/class/power_supply/battery/capacity".
//
// Only calls that Android's filter for apps lets through, and no wait: a FIFO or a
// device under a file's name is refused, not opened and waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "os/unique_fd.h"

namespace shoal::os {

// The Status for an errno value: kNotFound if nothing is there, kResourceExhausted if
// space, memory or descriptors ran out, kInvalidArgument if the path cannot be meant,
// kUnavailable for the rest (permissions, devices that do not answer).
Status ErrnoStatus(int error, std::string_view path);

// The bytes of a regular file. kResourceExhausted: it has more than `bytes_max`; works
// for files of /proc and /sys too, whose size is not known before they are read.
Result<std::string> ReadFile(const std::string& path, std::size_t bytes_max);

// Who may read a file that we write.
enum class FileAccess : std::uint8_t {
  kOwner,     // 0600: keys, tokens.
  kEveryone,  // 0644.
};

// Makes `path` contain `bytes`. After OK the file is there after a power cut; after a
// failure or a crash at any moment, whatever was at `path` before is untouched (a
// crash can leave a `path`.tmp?????? beside it). Several writers may race: one wins whole.
Status WriteFileAtomically(const std::string& path, std::string_view bytes, FileAccess access);

// The same for a file that is too large to be put together in memory:
//
//   SHOAL_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path, FileAccess::kEveryone));
//   ... file.Write(part) ...
//   SHOAL_RETURN_IF_ERROR(file.Commit());
//
// What was at the path stays until Commit; without it, nothing is left behind. Not thread-safe.
class AtomicFile {
 public:
  static Result<AtomicFile> Create(const std::string& path, FileAccess access);
  AtomicFile(AtomicFile&& other) noexcept = default;
  AtomicFile& operator=(AtomicFile&&) = delete;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  // Appends. After a failure the file is only good for being thrown away.
  Status Write(std::string_view bytes);
  // After OK the file is there after a power cut. REQUIRES: called once, the last call.
  Status Commit();

 private:
  AtomicFile(std::string path, std::string temporary, UniqueFd fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}

  std::string path_;
  std::string temporary_;  // Where the bytes are until Commit.
  UniqueFd fd_;            // Not valid: committed, or moved from.
};

// Names in a directory without "." and "..", sorted. kResourceExhausted: there are
// more than kDirectoryEntriesMax.
Result<std::vector<std::string>> ListDirectory(const std::string& path);
// Far above a layer cache or a sysfs class; below what would hurt a phone's memory.
inline constexpr std::size_t kDirectoryEntriesMax = 65536;

// Bytes that an unprivileged process may still write to the file system of `path`.
Result<std::uint64_t> FreeSpace(const std::string& path);

// A regular file open for reading. ReadAt may be called from several threads; Read
// moves the one position that the file has.
class File {
 public:
  static Result<File> Open(const std::string& path);

  const std::string& path() const { return path_; }
  // When it was opened.
  std::uint64_t size() const { return size_; }

  // The next bytes, at most out.size() of them; 0 at the end.
  Result<std::size_t> Read(std::span<std::byte> out);

  // Fills `out` from `offset`. kCorruption: the file ends before that.
  Status ReadAt(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  File(std::string path, UniqueFd fd, std::uint64_t size)
      : path_(std::move(path)), fd_(std::move(fd)), size_(size) {}

  friend class MappedFile;  // Maps what fd_ refers to, so that one open() checks the kind of file.

  std::string path_;
  UniqueFd fd_;
  std::uint64_t size_ = 0;
};

}  // namespace shoal::os
