// HTTP as this module sees it: a request, and somebody who takes the answer to it. Whoever has
// sockets implements Responder; a test collects what it is told.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_function.h"

namespace shoal::api {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method;  // "GET"
  std::string target;  // "/path?query"
  Headers headers;
  std::string body;

  std::string_view path() const;
  // The value of `name` in the query, as it is written there; empty: it has none.
  std::string_view Query(std::string_view name) const;
  // The first of that name, in any case; empty: there is none.
  std::string_view Header(std::string_view name) const;
};

// The answer to one request: Reply, or Begin, Write as often as wanted and End. Calls after the
// client has gone do nothing.
class Responder {
 public:
  virtual ~Responder() = default;

  virtual void Reply(int status, const Headers& headers, std::string_view body) = 0;

  virtual void Begin(int status, const Headers& headers) = 0;
  virtual void Write(std::string_view bytes) = 0;
  virtual void End() = 0;

  // Runs `task` if the client goes away before the end of the answer, never inside a call.
  // Destroying the responder takes it back.
  virtual void OnGone(UniqueFunction<void()> task) = 0;
};

}  // namespace shoal::api
