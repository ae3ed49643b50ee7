// SysRoot: where /proc and /sys are. "/" is this machine; a test gives a directory
// with the files of some phone in it.
//
// What is in these files is up to vendors, and reading them up to Android's policy:
// each can be missing, forbidden, empty, absurd. Every reading is a value or a Status
// that says which file and why not. Thread-safe: nothing changes after construction.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace shoal::os {

class SysRoot {
 public:
  explicit SysRoot(std::string_view root = "/");

  // False for a fake tree: then system calls say nothing about the machine described.
  bool is_machine() const { return prefix_.empty(); }

  // Paths below start with '/' and are as on a phone: "/proc/meminfo".

  // The file's text, trimmed; bytes that are not printable ASCII, tab or line end are
  // '?', so that it can go into messages and JSON. kResourceExhausted: over kTextBytesMax.
  Result<std::string> ReadText(std::string_view path) const;

  // The file's only number. kCorruption: it holds something else.
  Result<std::int64_t> ReadInteger(std::string_view path) const;

  // Like ReadInteger, and kCorruption if it is not in [low, high].
  Result<std::int64_t> ReadInteger(std::string_view path, std::int64_t low,
                                   std::int64_t high) const;

  // The names in a directory, sorted.
  Result<std::vector<std::string>> List(std::string_view path) const;

  // kCorruption that names the file: for a value that a caller found absurd.
  Status Absurd(std::string_view path, std::string_view what) const;

  // The longest honest text is /proc/cpuinfo: 0.4 MiB with 256 cores.
  static constexpr std::size_t kTextBytesMax = 1 << 20;

 private:
  std::string prefix_;  // Without a slash at the end: empty for "/".
};

}  // namespace shoal::os
