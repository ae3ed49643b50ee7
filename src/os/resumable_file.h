// ResumableFile: a file that is written over several runs of the program and gets its
// name only when it is complete:
//
//   SHOAL_ASSIGN_OR_RETURN(ResumableFile part, ResumableFile::Open("model.gguf.part"));
//   ... fetch what comes after part.size(); part.Append(bytes) ...
//   SHOAL_RETURN_IF_ERROR(part.MoveTo("model.gguf"));
//
// After a crash at any moment the bytes appended so far are there (after a power cut,
// some of them), under the first name only. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"
#include "os/unique_fd.h"

namespace shoal::os {

class ResumableFile {
 public:
  // Makes the file if it is not there; readable by everyone. kUnavailable: another process
  // has it open in this way (where the file system can tell), or permission is missing.
  static Result<ResumableFile> Open(const std::string& path);

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }

  // kResourceExhausted: the disk is full; what fitted stays.
  Status Append(std::span<const std::byte> bytes);
  // Throws all bytes away.
  Status Clear() { return CutTo(0); }
  // Throws those away that come after the first `bytes`. REQUIRES: there are so many.
  Status CutTo(std::uint64_t bytes);
  // Gives the file its name, replacing what had it. After OK it is there after a power
  // cut. REQUIRES: the last call.
  Status MoveTo(const std::string& path);
  // Deletes the file. REQUIRES: the last call.
  Status Remove();

 private:
  ResumableFile(std::string path, UniqueFd fd, std::uint64_t size)
      : path_(std::move(path)), fd_(std::move(fd)), size_(size) {}

  std::string path_;
  UniqueFd fd_;
  std::uint64_t size_ = 0;
};

}  // namespace shoal::os
