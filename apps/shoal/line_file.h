// LineFile: a file of lines that grows while a run goes on, and survives a disk that is full for a
// while: what could not be written is written as soon as it can be, and no line is written in part.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "base/status.h"

namespace shoal {

class LineFile {
 public:
  // Begins with `text` in place of what is there.
  Status Open(const std::string& path, const std::string& text);
  // Appends whole lines. A failure says that they wait for the next call.
  Status Append(const std::string& lines);

 private:
  std::string path_;
  std::ofstream file_;
  std::uint64_t written_ = 0;  // Bytes of the file that are whole lines.
  std::string waiting_;
};

}  // namespace shoal
