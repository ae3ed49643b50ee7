#include "shoal/line_file.h"

#include <filesystem>
#include <system_error>

#include "os/file.h"

namespace shoal {
namespace {

// A day of lines, on a disk that stays full.
constexpr std::size_t kWaitingBytesMax = std::size_t{64} << 20U;

}  // namespace

Status LineFile::Open(const std::string& path, const std::string& text) {
  if (file_.is_open()) file_.close();
  path_ = path;
  SHOAL_RETURN_IF_ERROR(os::WriteFileAtomically(path, text, os::FileAccess::kEveryone));
  written_ = text.size();
  waiting_.clear();
  file_.clear();
  file_.open(path, std::ios::app);
  return {};
}

Status LineFile::Append(const std::string& lines) {
  if (waiting_.size() + lines.size() <= kWaitingBytesMax) waiting_ += lines;
  if (!file_.good()) {
    // What the last write left may end in the middle of a line.
    file_.close();
    std::error_code error;
    std::filesystem::resize_file(path_, written_, error);
    file_.clear();
    if (!error) file_.open(path_, std::ios::app);
  }
  file_ << waiting_ << std::flush;
  if (!file_.good()) {
    return Status(Code::kUnavailable, path_ + ": cannot be written to: is the disk full?");
  }
  written_ += waiting_.size();
  waiting_.clear();
  return {};
}

}  // namespace shoal
