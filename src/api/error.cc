#include "api/error.h"

#include <utility>

#include "api/json_internal.h"

namespace shoal::api {
namespace {

int HttpStatusOf(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return 400;
    case Code::kNotFound:
      return 404;
    case Code::kResourceExhausted:
      return 429;
    case Code::kUnavailable:
    case Code::kCancelled:
      return 503;
    case Code::kDeadlineExceeded:
      return 504;
    case Code::kOk:
    case Code::kCorruption:
      break;
  }
  return 500;
}

const char* TypeOf(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 429:
      return "rate_limit_error";
    default:
      return status < 500 ? "invalid_request_error" : "server_error";
  }
}

Json OrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace

ApiError ToApiError(const Status& status) {
  return {.status = HttpStatusOf(status.code()), .message = std::string(status.message())};
}

std::string ToJson(const ApiError& error) {
  return Dump({{"error",
                {{"message", error.message},
                 {"type", TypeOf(error.status)},
                 {"param", OrNull(error.param)},
                 {"code", OrNull(error.code)}}}});
}

void ReplyError(Responder& responder, const ApiError& error, Headers headers) {
  headers.emplace_back("Content-Type", "application/json");
  responder.Reply(error.status, headers, ToJson(error) + "\n");
}

void ReplyJson(Responder& responder, std::string_view json, int status) {
  responder.Reply(status, {{"Content-Type", "application/json"}}, std::string(json) + "\n");
}

}  // namespace shoal::api
