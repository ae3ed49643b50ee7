// A session's life and its reading; http_session_answer.cc writes.
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/rfc7230.hpp>

#include <utility>

#include "os/net/http_session_internal.h"

namespace shoal::os {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

// Requests that were sent ahead, or a line of a chunked body: more waits in the kernel.
constexpr std::size_t kInputBytesMax = std::size_t{64} << 10;

HttpHeaders HeadersOf(const http::fields& fields) {
  HttpHeaders headers;
  for (const auto& field : fields) {
    headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  return headers;
}

// The path of a target, whichever of its forms it has; empty: it has none.
std::string PathOf(std::string_view target) {
  constexpr std::string_view kScheme = "http://";
  if (target.starts_with(kScheme)) {
    const std::size_t slash = target.find('/', kScheme.size());
    return slash == std::string_view::npos ? "/" : std::string(target.substr(slash));
  }
  return target.starts_with('/') || target == "*" ? std::string(target) : std::string();
}

}  // namespace

HttpSession::HttpSession(Loop& loop, const HttpServer::Options& options, HttpSessionOwner& owner,
                         boost::asio::ip::tcp::socket socket)
    : loop_(loop), options_(options), owner_(owner), socket_(std::move(socket)) {
  error_code ignored;
  socket_.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
}

void HttpSession::Start() {
  NextRequest();
  SetDeadline(Deadline::kHead, options_.head_max);
}

void HttpSession::Refuse() { Fail(503, "too many connections; try again later"); }

void HttpSession::Close() {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();
  state_ = State::kClosed;
  loop_.Cancel(deadline_);
  error_code ignored;
  socket_.close(ignored);
  // By then nobody may want to know any more: then on_gone_ has been taken back.
  if (on_gone_) {
    loop_.Post([self] {
      UniqueFunction<void()> task = std::exchange(self->on_gone_, {});
      if (task) task();
    });
  }
  owner_.OnClosed(*this);
}

void HttpSession::SetDeadline(Deadline kind, Duration after) {
  loop_.Cancel(deadline_);
  deadline_kind_ = kind;
  deadline_ = loop_.CallAfter(after, [weak = weak_from_this(), kind] {
    if (const auto self = weak.lock()) self->OnDeadline(kind);
  });
}

void HttpSession::OnDeadline(Deadline kind) {
  const bool begun = head_done_ || !input_.empty();
  if (begun && kind == Deadline::kHead) return Fail(408, "the request's headers took too long");
  if (begun && kind == Deadline::kBody) return Fail(408, "the request's body took too long");
  Close();
}

void HttpSession::Read() {
  if (reading_ || state_ == State::kClosed || input_.size() >= kInputBytesMax) return;
  reading_ = true;
  socket_.async_read_some(boost::asio::buffer(read_buffer_),
                          [self = shared_from_this()](const error_code& error, std::size_t n) {
                            self->reading_ = false;
                            self->OnRead(error, n);
                          });
}

void HttpSession::OnRead(const error_code& error, std::size_t n) {
  if (state_ == State::kClosed) return;
  if (error) return Close();
  if (state_ == State::kLingering) return Read();
  input_.append(read_buffer_.data(), n);
  if (state_ == State::kReading) return Parse();
  Read();
}

void HttpSession::NextRequest() {
  state_ = State::kReading;
  head_done_ = false;
  streaming_ = false;
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(options_.head_bytes_max));
  parser_->body_limit(options_.body_bytes_max);
  parser_->eager(false);  // Stops where the body begins.
  SetDeadline(Deadline::kIdle, options_.idle_max);
  Parse();
}

void HttpSession::Parse() {
  while (!parser_->is_done()) {
    if (input_.empty()) return Read();
    if (deadline_kind_ == Deadline::kIdle) SetDeadline(Deadline::kHead, options_.head_max);
    error_code error;
    const std::size_t n = parser_->put(boost::asio::buffer(input_), error);
    input_.erase(0, n);
    if (error == http::error::header_limit) return Fail(431, "the request's headers are too large");
    if (error == http::error::body_limit) {
      return Fail(413, "the request's body has more than " +
                           std::to_string(options_.body_bytes_max) + " bytes");
    }
    if (error && error != http::error::need_more) {
      return Fail(400, "the request is not HTTP/1.1: " + error.message());
    }
    if (!head_done_ && parser_->is_header_done()) {
      OnHead();
      if (state_ != State::kReading) return;
    } else if (n == 0) {
      if (input_.size() >= kInputBytesMax) return Fail(400, "a line of the request is too long");
      return Read();
    }
  }
  Dispatch();
}

void HttpSession::OnHead() {
  head_done_ = true;
  const auto& head = parser_->get();
  keep_alive_ = head.keep_alive();
  chunked_ = head.version() >= 11;
  without_body_ = head.method() == http::verb::head;
  if (PathOf({head.target().data(), head.target().size()}).empty()) {
    return Fail(400, "the request's target is not a path");
  }
  if (chunked_ && head.count(http::field::host) != 1) {
    return Fail(400, "the request needs one Host header");
  }
  if (parser_->is_done()) return;
  SetDeadline(Deadline::kBody, options_.body_max);
  if (chunked_ && input_.empty() &&
      http::token_list(head[http::field::expect]).exists("100-continue")) {
    Send("HTTP/1.1 100 Continue\r\n\r\n");
  }
}

void HttpSession::Dispatch() {
  state_ = State::kAnswering;
  loop_.Cancel(deadline_);
  auto message = parser_->release();
  HttpServerRequest request{
      .method = std::string(message.method_string()),
      .target = PathOf({message.target().data(), message.target().size()}),
      .headers = HeadersOf(message.base()),
      .body = std::move(message.body()),
  };
  Read();  // To notice if the client goes.
  const bool preflight = request.method == "OPTIONS" &&
                         !FindHeader(request.headers, "Access-Control-Request-Method").empty();
  if (preflight && !options_.allow_origin.empty()) {
    const auto wanted = FindHeader(request.headers, "Access-Control-Request-Headers");
    return Reply(204,
                 {{"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
                  {"Access-Control-Allow-Headers", std::string(wanted)},
                  {"Access-Control-Max-Age", "600"}},
                 {});
  }
  owner_.OnRequest(std::move(request), std::make_unique<HttpResponder>(weak_from_this()));
}

}  // namespace shoal::os
