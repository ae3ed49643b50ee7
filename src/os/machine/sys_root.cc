#include "os/machine/sys_root.h"

#include "os/file.h"
#include "os/machine/kernel_text.h"

namespace shoal::os {
namespace {

// Enough of a file's text to recognise it in a message.
constexpr std::size_t kQuotedBytesMax = 32;

std::string Quote(std::string_view text) {
  return '"' + std::string(text.substr(0, kQuotedBytesMax)) + '"';
}

bool IsPlain(char c) { return (c >= ' ' && c <= '~') || c == '\t' || c == '\n'; }

}  // namespace

SysRoot::SysRoot(std::string_view root) : prefix_(root) {
  while (!prefix_.empty() && prefix_.back() == '/') prefix_.pop_back();
}

Result<std::string> SysRoot::ReadText(std::string_view path) const {
  SHOAL_ASSIGN_OR_RETURN(const std::string bytes,
                         ReadFile(prefix_ + std::string(path), kTextBytesMax));
  std::string text(Trim(bytes));
  for (char& c : text) {
    if (!IsPlain(c)) c = '?';
  }
  return text;
}

Result<std::int64_t> SysRoot::ReadInteger(std::string_view path) const {
  SHOAL_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  if (text.empty()) return Absurd(path, "empty");
  const std::optional<std::int64_t> value = ParseInteger(text);
  if (!value) return Absurd(path, Quote(text) + " is not a number");
  return *value;
}

Result<std::int64_t> SysRoot::ReadInteger(std::string_view path, std::int64_t low,
                                          std::int64_t high) const {
  SHOAL_ASSIGN_OR_RETURN(const std::int64_t value, ReadInteger(path));
  if (value < low || value > high) {
    return Absurd(path, std::to_string(value) + " is absurd");
  }
  return value;
}

Result<std::vector<std::string>> SysRoot::List(std::string_view path) const {
  return ListDirectory(prefix_ + std::string(path));
}

Status SysRoot::Absurd(std::string_view path, std::string_view what) const {
  return Status(Code::kCorruption, std::string(what) + ": " + prefix_ + std::string(path));
}

}  // namespace shoal::os
