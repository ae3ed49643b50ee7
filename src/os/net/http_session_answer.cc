// What a session writes.
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/status.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

#include "os/net/http_session_internal.h"

namespace shoal::os {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

// For a client to read the last answer, before what it still sends ends the connection.
constexpr Duration kLingerMax = std::chrono::seconds(2);

// A control character would end the line.
std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 127; }, ' ');
  return text;
}

std::string Hex(std::size_t number) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  return {digits.data(), end};
}

// `message` is our own: nothing in it needs escapes.
std::string ErrorJson(std::string_view message) {
  return R"({"error":{"message":")" + std::string(message) +
         R"(","type":"invalid_request_error","param":null,"code":null}})" + "\n";
}

}  // namespace

std::string HttpSession::HeadOf(int status, const HttpHeaders& headers,
                                std::string_view framing) const {
  const auto reason = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status)));
  std::string head = "HTTP/1.1 " + std::to_string(status) + " " + std::string(reason) + "\r\n";
  for (const auto& [name, value] : headers) head += name + ": " + OneLine(value) + "\r\n";
  if (!options_.allow_origin.empty()) {
    head += "Access-Control-Allow-Origin: " + OneLine(options_.allow_origin) + "\r\n";
  }
  if (!keep_alive_) head += "Connection: close\r\n";
  head += framing;
  return head + "\r\n";
}

void HttpSession::Reply(int status, const HttpHeaders& headers, std::string_view body) {
  if (state_ != State::kAnswering) return;
  const bool none = status == 204 || status == 304;
  std::string text = HeadOf(status, headers,
                            none ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n");
  if (!none && !without_body_) text += body;
  state_ = State::kFlushing;
  on_gone_ = {};
  Send(text);
}

void HttpSession::Begin(int status, const HttpHeaders& headers) {
  if (state_ != State::kAnswering) return;
  streaming_ = true;
  if (!chunked_) keep_alive_ = false;  // The end of the connection is the end of the answer.
  Send(HeadOf(status, headers, chunked_ ? "Transfer-Encoding: chunked\r\n" : ""));
}

void HttpSession::Write(std::string_view bytes) {
  if (state_ != State::kAnswering || without_body_ || bytes.empty()) return;
  const std::size_t waiting = in_flight_.size() - in_flight_done_ + queue_.size();
  if (waiting > 0 && waiting + bytes.size() > options_.queue_bytes_max) return Close();
  if (!chunked_) return Send(bytes);
  Send(Hex(bytes.size()) + "\r\n" + std::string(bytes) + "\r\n");
}

void HttpSession::End() {
  if (state_ != State::kAnswering) return;
  state_ = State::kFlushing;
  on_gone_ = {};
  Send(chunked_ && !without_body_ ? "0\r\n\r\n" : "");
}

void HttpSession::Abandon() {
  on_gone_ = {};
  if (state_ != State::kAnswering) return;
  if (streaming_) return Close();
  Reply(500, {{"Content-Type", "application/json"}}, ErrorJson("the server has no answer"));
}

void HttpSession::Fail(int status, std::string_view message) {
  keep_alive_ = false;
  state_ = State::kAnswering;
  loop_.Cancel(deadline_);
  Reply(status, {{"Content-Type", "application/json"}}, ErrorJson(message));
}

void HttpSession::Send(std::string_view bytes) {
  queue_ += bytes;
  if (in_flight_.empty()) WriteSome();
}

void HttpSession::WriteSome() {
  if (in_flight_done_ == in_flight_.size()) {
    in_flight_ = std::exchange(queue_, {});
    in_flight_done_ = 0;
  }
  if (in_flight_.empty()) return OnFlushed();
  if (state_ != State::kReading) SetDeadline(Deadline::kSend, options_.idle_max);
  socket_.async_write_some(boost::asio::buffer(in_flight_) + in_flight_done_,
                           [self = shared_from_this()](const error_code& error, std::size_t n) {
                             self->OnWritten(error, n);
                           });
}

void HttpSession::OnWritten(const error_code& error, std::size_t n) {
  if (state_ == State::kClosed) return;
  if (error) return Close();
  in_flight_done_ += n;
  WriteSome();
}

void HttpSession::OnFlushed() {
  if (state_ == State::kReading) return;  // It was "100 Continue".
  loop_.Cancel(deadline_);
  if (state_ != State::kFlushing) return;
  if (keep_alive_) return NextRequest();
  Linger();
}

void HttpSession::Linger() {
  state_ = State::kLingering;
  error_code error;
  socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send, error);
  if (error) return Close();
  input_.clear();
  SetDeadline(Deadline::kLinger, kLingerMax);
  Read();
}

}  // namespace shoal::os
