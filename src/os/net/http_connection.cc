#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "os/loop_internal.h"
#include "os/net/http_connection_internal.h"
#include "os/net/wait_internal.h"

namespace shoal::os {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

error_code SystemError(int error) { return {error, boost::system::system_category()}; }

// Not Asio's connect, which waits as long as the kernel does: minutes.
Status ConnectSocket(const Loop& loop, tcp::socket& socket, const tcp::endpoint& to,
                     Instant deadline) {
  error_code error;
  socket.open(to.protocol(), error);
  if (!error) socket.non_blocking(true, error);
  if (error) return SocketError("socket", error);
  const int fd = socket.native_handle();
  if (::connect(fd, to.data(), static_cast<socklen_t>(to.size())) == 0) return {};
  if (errno != EINPROGRESS && errno != EINTR) return SocketError("connect", SystemError(errno));
  SHOAL_RETURN_IF_ERROR(WaitFor(loop, fd, Wait::kWritable, deadline).Annotate("connect"));
  int failure = 0;
  socklen_t size = sizeof(failure);
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0) failure = errno;
  if (failure != 0) return SocketError("connect", SystemError(failure));
  return {};
}

}  // namespace

HttpConnection::HttpConnection(Loop& loop, Duration silence_max)
    : loop_(loop), silence_max_(silence_max), socket_(LoopInternals::Context(loop)) {}

Result<std::unique_ptr<HttpConnection>> HttpConnection::Connect(Loop& loop, const tcp::endpoint& to,
                                                                Duration connect_max,
                                                                Duration silence_max) {
  std::unique_ptr<HttpConnection> connection(new HttpConnection(loop, silence_max));
  SHOAL_RETURN_IF_ERROR(ConnectSocket(loop, connection->socket_, to, loop.Now() + connect_max));
  connection->stream_ = MakeTcpStream(connection->socket_);
  return connection;
}

Status HttpConnection::Secure(const CaCertificates& trusted, const std::string& host) {
  SHOAL_ASSIGN_OR_RETURN(stream_, MakeHttpsStream(socket_, trusted, host));
  return Handshake();
}

Status HttpConnection::Secure(const wire::AuthorityHash& authority) {
  SHOAL_ASSIGN_OR_RETURN(stream_, MakeEnrolStream(socket_, authority));
  return Handshake();
}

Status HttpConnection::Handshake() {
  const Instant deadline = loop_.Now() + silence_max_;
  for (;;) {
    SHOAL_ASSIGN_OR_RETURN(const bool done, stream_->Handshake());
    if (done) return {};
    SHOAL_ASSIGN_OR_RETURN(const bool flushed, stream_->Flush());
    SHOAL_RETURN_IF_ERROR(WaitFor(loop_, socket_.native_handle(),
                                  flushed ? Wait::kReadable : Wait::kWritable, deadline)
                              .Annotate("TLS"));
  }
}

Status HttpConnection::Write(std::string_view bytes) {
  const Instant deadline = loop_.Now() + silence_max_;
  const auto wait = [&] {
    return WaitFor(loop_, socket_.native_handle(), Wait::kWritable, deadline);
  };
  while (!bytes.empty()) {
    SHOAL_ASSIGN_OR_RETURN(const std::size_t n,
                           stream_->Write(std::as_bytes(std::span(bytes.data(), bytes.size()))));
    bytes.remove_prefix(n);
    if (n == 0) SHOAL_RETURN_IF_ERROR(wait());
  }
  for (;;) {
    SHOAL_ASSIGN_OR_RETURN(const bool flushed, stream_->Flush());
    if (flushed) return {};
    SHOAL_RETURN_IF_ERROR(wait());
  }
}

Result<std::size_t> HttpConnection::Read(std::span<std::byte> out) {
  const Instant deadline = loop_.Now() + silence_max_;
  for (;;) {
    SHOAL_ASSIGN_OR_RETURN(const std::size_t n, stream_->Read(out));
    if (n > 0) return n;
    SHOAL_RETURN_IF_ERROR(WaitFor(loop_, socket_.native_handle(), Wait::kReadable, deadline));
  }
}

}  // namespace shoal::os
