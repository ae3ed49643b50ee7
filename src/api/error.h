// What a client is told when its request fails, in OpenAI's shape:
// {"error":{"message":...,"type":...,"param":...,"code":...}}.
#pragma once

#include <string>

#include "api/http.h"
#include "base/status.h"

namespace shoal::api {

struct ApiError {
  int status = 400;
  std::string message;
  std::string param = {};  // The field that is wrong; empty: none in particular.
  std::string code = {};   // For programs, such as "model_not_found"; empty: none.
};

// REQUIRES: `status` is a failure.
ApiError ToApiError(const Status& status);

std::string ToJson(const ApiError& error);

void ReplyError(Responder& responder, const ApiError& error, Headers headers = {});
// 200 with `json`.
void ReplyJson(Responder& responder, std::string_view json, int status = 200);

}  // namespace shoal::api
