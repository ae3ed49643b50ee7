#include <boost/system/error_code.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <string>
#include <utility>

#include "base/check.h"
#include "os/loop_internal.h"
#include "os/net/connection_internal.h"
#include "os/net/endpoint_internal.h"
#include "wire/send_queue.h"

namespace shoal::os {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

// Reads and writes in a row before other sockets and timers have their turn.
constexpr int kTurnsMax = 8;

// A batch buffer larger than this is given back when its connection falls idle.
constexpr std::size_t kIdleBatchBytesMax = std::size_t{4} << 10;

}  // namespace

Connection::Connection(ConnectionConfig& config, tcp::socket socket, ConnectionOwner& owner,
                       Side side)
    : config_(config), socket_(std::move(socket)), owner_(&owner), side_(side) {}

std::shared_ptr<Connection> Connection::Dial(ConnectionConfig& config,
                                             const tcp::endpoint& endpoint,
                                             ConnectionOwner& owner) {
  tcp::socket socket(LoopInternals::Context(config.loop));
  std::shared_ptr<Connection> self(
      new Connection(config, std::move(socket), owner, Side::kDialler));
  self->socket_.async_connect(endpoint, [self](const error_code& error) {
    if (self->phase_ == Phase::kClosed) return;
    if (error) return self->Fail(SocketError("connect", error));
    self->SetSocketOptions();
    self->Secure();
  });
  return self;
}

std::shared_ptr<Connection> Connection::Accept(ConnectionConfig& config, tcp::socket socket,
                                               ConnectionOwner& owner) {
  std::shared_ptr<Connection> self(
      new Connection(config, std::move(socket), owner, Side::kAcceptor));
  self->address_ = RemoteAddress(self->socket_);
  self->SetSocketOptions();
  config.loop.Post([self] {
    if (self->phase_ != Phase::kClosed) self->Secure();
  });
  return self;
}

// Failures are left to the first read or write, which will have the same one.
void Connection::SetSocketOptions() {
  error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(tcp::no_delay(true), ignored);
  LimitUnsent();
  phase_ = Phase::kSecuring;
  stream_ = config_.tls != nullptr ? MakeTlsStream(socket_, *config_.tls, side_, config_.dates)
                                   : MakeTcpStream(socket_);
}

void Connection::LimitUnsent() {
  const int bytes = static_cast<int>(unsent_.bytes());
  setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof(bytes));
}

void Connection::Secure() {
  const Result<bool> done = stream_->Handshake();
  if (!done.ok()) return Fail(done.status());
  if (*done) {
    phase_ = Phase::kGreeting;
    owner_->OnSecured(*this);
    if (phase_ == Phase::kGreeting) ReadHello();
    return;
  }
  const Result<bool> flushed = stream_->Flush();
  if (!flushed.ok()) return Fail(flushed.status());
  if (!*flushed) WaitWritable();
  WaitReadable();
}

void Connection::WaitReadable() {
  if (waiting_readable_) return;
  waiting_readable_ = true;
  socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](const error_code& error) {
    self->waiting_readable_ = false;
    if (self->phase_ == Phase::kClosed) return;
    if (error) return self->Fail(SocketError("wait", error));
    self->OnReadable();
  });
}

void Connection::WaitWritable() {
  if (waiting_writable_) return;
  waiting_writable_ = true;
  socket_.async_wait(tcp::socket::wait_write, [self = shared_from_this()](const error_code& error) {
    self->waiting_writable_ = false;
    if (self->phase_ == Phase::kClosed) return;
    if (error) return self->Fail(SocketError("wait", error));
    if (self->phase_ == Phase::kSecuring) return self->Secure();
    self->Write();
  });
}

void Connection::OnReadable() {
  switch (phase_) {
    case Phase::kSecuring:
      return Secure();
    case Phase::kGreeting:
      return ReadHello();
    case Phase::kOpen:
      return ReadFrames();
    case Phase::kConnecting:
    case Phase::kGreeted:
    case Phase::kClosed:
      return;
  }
}

void Connection::ReadHello() {
  while (hello_filled_ < wire::kHelloBytes) {
    // Not a byte more: frames stay in the stream until somebody can receive them.
    const Result<std::size_t> n = stream_->Read(std::span(hello_).subspan(hello_filled_));
    if (!n.ok()) return Fail(n.status());
    if (*n == 0) return WaitReadable();
    hello_filled_ += *n;
  }
  const Result<wire::Hello> hello = wire::DecodeHello(hello_);
  if (!hello.ok()) {
    // So that the other side can name both versions too.
    if (side_ == Side::kAcceptor && hello.status().code() == Code::kInvalidArgument) {
      SendHello({.verdict = wire::Verdict::kWrongVersion});
      Write();
      if (phase_ == Phase::kClosed) return;
    }
    return Fail(hello.status());
  }
  phase_ = Phase::kGreeted;
  owner_->OnHello(*this, *hello);
}

void Connection::SendHello(const wire::Hello& hello) {
  const wire::HelloBytes bytes = wire::EncodeHello(hello);
  batch_.insert(batch_.end(), bytes.begin(), bytes.end());
  WriteSoon();
}

void Connection::RefuseAndClose(const wire::Hello& hello) {
  const Result<std::size_t> n = stream_->Write(wire::EncodeHello(hello));
  (void)n;  // The peer will see a closed connection, if not why.
  Close();
}

void Connection::Open(wire::Role role) {
  SHOAL_CHECK(phase_ == Phase::kGreeted);
  phase_ = Phase::kOpen;
  decoder_ = wire::FrameDecoder(role);
  tick_ =
      config_.loop.CallAfter(config_.ping_interval, [self = shared_from_this()] { self->Tick(); });
  // Bytes may already be in the stream, where waiting for the socket would miss them.
  config_.loop.Post([self = shared_from_this()] { self->OnReadable(); });
}

void Connection::ReadFrames() {
  for (int turn = 0; turn < kTurnsMax; ++turn) {
    const Result<std::size_t> n = stream_->Read(config_.read_buffer);
    if (!n.ok()) return Fail(n.status());
    if (*n == 0) return WaitReadable();
    heard_ = true;
    if (!HandOver(std::span(config_.read_buffer).first(*n))) return;
  }
  config_.loop.Post([self = shared_from_this()] { self->OnReadable(); });
}

bool Connection::HandOver(std::span<const std::byte> bytes) {
  for (;;) {
    Result<std::optional<wire::FrameDecoder::Received>> next = decoder_.Next(bytes);
    if (!next.ok()) {
      Fail(next.status());
      return false;
    }
    if (!*next) break;
    if ((*next)->kind == wire::Kind::kPing) continue;
    owner_->OnFrame(*this, (*next)->kind, std::move((*next)->frame));
    if (phase_ == Phase::kClosed) return false;
  }
  owner_->OnReadEnd(*this);
  return phase_ != Phase::kClosed;
}

void Connection::WriteSoon() {
  if (write_posted_ || waiting_writable_ || phase_ == Phase::kClosed) return;
  write_posted_ = true;
  config_.loop.Post([self = shared_from_this()] {
    self->write_posted_ = false;
    if (self->phase_ != Phase::kClosed) self->Write();
  });
}

void Connection::RefillBatch() {
  batch_.clear();
  batch_written_ = 0;
  if (phase_ != Phase::kOpen) return;
  if (ping_due_) wire::AppendFrame(wire::Kind::kPing, {}, batch_);
  ping_due_ = false;
  owner_->FillBatch(*this, batch_);
}

void Connection::Write() {
  for (int turn = 0; turn < kTurnsMax; ++turn) {
    const Result<bool> flushed = stream_->Flush();
    if (!flushed.ok()) return Fail(flushed.status());
    if (!*flushed) return OnFull();
    if (batch_written_ == batch_.size()) RefillBatch();
    if (phase_ == Phase::kClosed) return;
    if (batch_.empty()) {
      unsent_.OnIdle();
      if (batch_.capacity() > kIdleBatchBytesMax) batch_.shrink_to_fit();
      return;
    }
    const Result<std::size_t> n = stream_->Write(std::span(batch_).subspan(batch_written_));
    if (!n.ok()) return Fail(n.status());
    if (*n == 0) return OnFull();
    batch_written_ += *n;
    unsent_.OnWritten(*n);
    wrote_ = true;
  }
  WaitWritable();
}

void Connection::OnFull() {
  if (unsent_.OnFull(config_.loop.Now())) LimitUnsent();
  WaitWritable();
}

void Connection::Tick() {
  if (phase_ != Phase::kOpen) return;
  // Ticks are counted, not time: while this process itself was stopped, the peer could
  // not be heard, and that is not its fault.
  silent_ticks_ = heard_ ? 0 : silent_ticks_ + 1;
  heard_ = false;
  if (silent_ticks_ * config_.ping_interval >= config_.silence_max) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(config_.silence_max);
    return Fail(
        {Code::kDeadlineExceeded, "the peer was silent for " + std::to_string(ms.count()) + " ms"});
  }
  if (!wrote_) {
    ping_due_ = true;
    WriteSoon();
  }
  wrote_ = false;
  tick_ =
      config_.loop.CallAfter(config_.ping_interval, [self = shared_from_this()] { self->Tick(); });
}

void Connection::Fail(const Status& why) {
  if (phase_ == Phase::kClosed) return;
  ConnectionOwner* owner = owner_;
  const std::shared_ptr<Connection> alive = shared_from_this();
  const Status reason = why;  // NOLINT: a copy, `why` may live in something that Close ends
  Close();
  owner->OnFailed(*this, reason);
}

void Connection::Close() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  owner_ = nullptr;
  config_.loop.Cancel(tick_);
  error_code ignored;
  socket_.close(ignored);
}

}  // namespace shoal::os
