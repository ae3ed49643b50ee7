// HttpSession: one client's connection to an HttpServer. Reads a request, hands it to the handler,
// writes the answer, and so on. Bytes are read while an answer is made, too: that is how a client
// that goes away is noticed.
//
// Belongs to one event loop. Shared with the operations that Asio has pending on it.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/system/error_code.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "os/loop.h"
#include "os/net/http_server.h"

namespace shoal::os {

class HttpSessionOwner {
 public:
  virtual ~HttpSessionOwner() = default;
  virtual void OnRequest(HttpServerRequest request, std::unique_ptr<HttpResponder> responder) = 0;
  // The last call.
  virtual void OnClosed(HttpSession& session) = 0;
};

class HttpSession final : public std::enable_shared_from_this<HttpSession> {
 public:
  // `options` and `owner` outlive the session's Close.
  HttpSession(Loop& loop, const HttpServer::Options& options, HttpSessionOwner& owner,
              boost::asio::ip::tcp::socket socket);

  void Start();
  // Answers 503 and hangs up.
  void Refuse();
  // Hangs up at once.
  void Close();

  // What responders call.
  void Reply(int status, const HttpHeaders& headers, std::string_view body);
  void Begin(int status, const HttpHeaders& headers);
  void Write(std::string_view bytes);
  void End();
  void Abandon();  // The responder is no more, and has not ended the answer.
  void SetOnGone(UniqueFunction<void()> task) { on_gone_ = std::move(task); }

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  enum class State {
    kReading,    // A request, or waiting for one.
    kAnswering,  // The handler's turn.
    kFlushing,   // The answer is complete, but not sent.
    kLingering,  // All is said. Closed now, unread bytes would take the answer with them.
    kClosed,
  };
  enum class Deadline { kIdle, kHead, kBody, kSend, kLinger };

  void SetDeadline(Deadline kind, Duration after);
  void OnDeadline(Deadline kind);
  void Read();
  void OnRead(const boost::system::error_code& error, std::size_t n);
  void NextRequest();
  // Goes on with the request as far as input_ reaches.
  void Parse();
  void OnHead();
  void Dispatch();
  // An answer of the server's own, after which the connection ends.
  void Fail(int status, std::string_view message);

  std::string HeadOf(int status, const HttpHeaders& headers, std::string_view framing) const;
  void Send(std::string_view bytes);
  void WriteSome();
  void OnWritten(const boost::system::error_code& error, std::size_t n);
  void OnFlushed();
  void Linger();

  Loop& loop_;
  const HttpServer::Options& options_;
  HttpSessionOwner& owner_;
  boost::asio::ip::tcp::socket socket_;
  State state_ = State::kReading;
  TimerId deadline_{};
  Deadline deadline_kind_ = Deadline::kIdle;

  std::array<char, 16384> read_buffer_{};
  bool reading_ = false;
  std::string input_;             // Read, not yet parsed; bounded.
  std::optional<Parser> parser_;  // Of the request that is being read.
  bool head_done_ = false;

  // Of the answer.
  bool keep_alive_ = false;
  bool without_body_ = false;  // To HEAD.
  bool chunked_ = false;
  bool streaming_ = false;
  UniqueFunction<void()> on_gone_;

  std::string in_flight_;  // Being written by Asio.
  std::size_t in_flight_done_ = 0;
  std::string queue_;  // Behind it.
};

}  // namespace shoal::os
