#include <algorithm>

#include "caffe/text_limits_internal.h"

namespace shoal::caffe::internal {
namespace {

// Walks over a text and knows its braces from those in strings and comments.
class Scanner {
 public:
  Scanner(std::string_view file, std::string_view text) : file_(file), text_(text) {}

  Status Run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        SkipComment();
      } else if (c == '"' || c == '\'') {
        SkipString(c);
      } else {
        SHOAL_RETURN_IF_ERROR(Bracket(c));
        Advance();
      }
    }
    return Status();
  }

 private:
  Status Bracket(char c) {
    if (c == '{' || c == '<' || c == '[') {
      ++depth_;
      ++blocks_;
      if (depth_ > kMaxTextDepth) {
        return Error("blocks are nested more than " + std::to_string(kMaxTextDepth) + " deep");
      }
      if (blocks_ > kMaxTextBlocks) {
        return Error("the file has more than " + std::to_string(kMaxTextBlocks) + " blocks");
      }
    } else if (c == '}' || c == '>' || c == ']') {
      --depth_;
    }
    return Status();
  }

  void SkipComment() {
    while (at_ < text_.size() && text_[at_] != '\n') Advance();
  }

  // A string ends at its quote or, being broken, at the end of the line: the parser will say so.
  void SkipString(char quote) {
    Advance();
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
      if (text_[at_] == '\\') Advance();
      Advance();
    }
    Advance();
  }

  void Advance() {
    if (at_ >= text_.size()) return;
    if (text_[at_] == '\n') {
      ++line_;
      column_ = 0;
    }
    ++column_;
    ++at_;
  }

  Status Error(const std::string& what) const {
    return Status(Code::kInvalidArgument, Place(file_, line_, column_) + ": " + what);
  }

  std::string_view file_;
  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  int column_ = 1;
  int depth_ = 0;
  int blocks_ = 0;
};

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != '\v';
}

}  // namespace

std::string Place(std::string_view file, int line, int column) {
  return std::string(file) + ":" + std::to_string(line) + ":" + std::to_string(column);
}

Status CheckTextLimits(std::string_view file, std::string_view text) {
  const std::string name(file);
  if (text.size() > kMaxTextBytes) {
    return Status(Code::kInvalidArgument,
                  name + ": " + std::to_string(text.size() >> 20) + " MiB is too large for a text" +
                      " file; the limit is " + std::to_string(kMaxTextBytes >> 20) + " MiB");
  }
  const auto control = std::find_if(text.begin(), text.end(), IsControl);
  if (control != text.end()) {
    return Status(Code::kInvalidArgument,
                  name + ": not a text file (byte " + std::to_string(control - text.begin()) +
                      "); a prototxt is expected here, is this a .caffemodel?");
  }
  return Scanner(file, text).Run();
}

}  // namespace shoal::caffe::internal
