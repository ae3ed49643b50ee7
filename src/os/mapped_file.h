// MappedFile: a file as read-only memory. Weights are used through it: pages come
// from flash when first touched, the system may drop them under memory pressure and
// fetch them again, and a restarted process finds them in the page cache.
//
// A file that someone truncates while it is mapped kills the process (SIGBUS) at the
// next touch of a lost page; nothing can turn that into a Status. So only files that
// are replaced and never rewritten are mapped: WriteFileAtomically (file.h) leaves an
// existing mapping with the old bytes.
//
// Thread-safe: nothing changes after Open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace shoal::os {

// How a range is going to be read. Hints: the system is free to ignore them.
enum class Advice : std::uint8_t {
  kWillNeed,    // Start reading it in now.
  kSequential,  // Front to back: read far ahead, drop behind.
  kRandom,      // Read only what is touched.
  // Larger pages, fewer address look-ups. Pays for weights that are streamed for every
  // token; the kernel does it for files only if built so, and else refuses quietly.
  kHugePages,
};

class MappedFile {
 public:
  // Maps the whole file. kInvalidArgument: it is empty or not a regular file.
  static Result<MappedFile> Open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  // Valid as long as this object; starts at a page boundary.
  std::span<const std::byte> bytes() const { return bytes_; }

  // About [offset, offset + length), cut to what is mapped.
  void Advise(Advice advice, std::size_t offset, std::size_t length) const;

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;  // Empty only when moved from.
};

// Takes the pages that lie wholly in a part of some file's bytes() out of this process's memory:
// it has been copied. Whoever reads it again gets it again, from the system's cache or from flash.
void DropPages(std::span<const std::byte> part);

}  // namespace shoal::os
