#include "base/status.h"

namespace shoal {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kInvalidArgument:
      return "invalid argument";
    case Code::kNotFound:
      return "not found";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kDeadlineExceeded:
      return "deadline exceeded";
    case Code::kResourceExhausted:
      return "resource exhausted";
    case Code::kCorruption:
      return "corruption";
    case Code::kCancelled:
      return "cancelled";
  }
  return "unknown code";
}

std::string Status::ToString() const {
  std::string text(CodeName(code_));
  if (!message_.empty()) text.append(": ").append(message_);
  return text;
}

}  // namespace shoal
