// A server of HTTP/1.1 for a few clients: whole answers and streamed ones (Server-Sent Events),
// given when they are ready. Connections are kept; requests that a client sends ahead are handled
// one after the other. Everything a client may send or hold on to has a limit, and nothing it does
// ends more than its own connection.
//
// Belongs to one Loop: made, called and destroyed on it, but not destroyed inside an event.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/time.h"
#include "base/unique_function.h"
#include "os/loop.h"
#include "os/net/http_headers.h"

namespace shoal::os {

struct HttpServerRequest {
  std::string method;  // As it came: "GET".
  std::string target;  // Path and query, beginning with '/'; or "*".
  HttpHeaders headers;
  std::string body;
};

class HttpSession;

// The answer to one request: Reply, or Begin, Write as often as wanted and End. Whatever is called
// after the client has gone is ignored. Destroyed before its time, it answers 500 or, in the midst
// of a stream, cuts the connection, so that nobody takes a part for the whole.
class HttpResponder {
 public:
  explicit HttpResponder(std::weak_ptr<HttpSession> session);
  ~HttpResponder();
  HttpResponder(const HttpResponder&) = delete;
  HttpResponder& operator=(const HttpResponder&) = delete;

  void Reply(int status, const HttpHeaders& headers, std::string_view body);

  void Begin(int status, const HttpHeaders& headers);
  // Sent as soon as the client takes it. A client that leaves more than Options::queue_bytes_max
  // waiting has gone.
  void Write(std::string_view bytes);
  void End();

  // Runs `task` if the client goes away before the end of the answer, never inside a call.
  void OnGone(UniqueFunction<void()> task);

 private:
  std::weak_ptr<HttpSession> session_;  // Nobody's once the answer has ended.
};

class HttpServer {
 public:
  struct Options {
    std::size_t connections_max = 64;  // More are answered with 503.
    std::size_t head_bytes_max = std::size_t{16} << 10;
    std::size_t body_bytes_max = std::size_t{8} << 20;
    std::size_t queue_bytes_max = std::size_t{1} << 20;  // Of what a slow client has not read.
    // From a request's first byte, or the connection's beginning, to the end of its headers.
    Duration head_max = std::chrono::seconds(10);
    Duration body_max = std::chrono::seconds(30);  // From there to the end of its body.
    // Without a request, or without taking a byte of an answer.
    Duration idle_max = std::chrono::seconds(60);
    // Pages of this origin ("*": of any) may use the answers. Empty: of none.
    std::string allow_origin = {};
  };
  using Handler = UniqueFunction<void(HttpServerRequest, std::unique_ptr<HttpResponder>)>;

  HttpServer(Loop& loop, Options options, Handler handler);
  ~HttpServer();  // Cuts all connections.
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Accepts clients at "127.0.0.1:8080" or, at a port of the system's choice, "[::1]:0". Returns
  // the address with the port it got. kInvalidArgument: not an address. kUnavailable: the system
  // refuses; the message says what to do if the port is in use.
  Result<std::string> Listen(const std::string& address);

  std::size_t connections() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;  // Keeps Asio out of this header.
};

}  // namespace shoal::os
