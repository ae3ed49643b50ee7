#include <boost/system/error_code.hpp>

#include <array>
#include <utility>

#include "os/net/endpoint_internal.h"
#include "os/net/enrol_guest_internal.h"

namespace shoal::os {

using boost::asio::ip::tcp;
using boost::system::error_code;

EnrolGuest::EnrolGuest(Loop& loop, tcp::socket socket, EnrolGuestOwner& owner)
    : loop_(loop),
      socket_(std::move(socket)),
      owner_(&owner),
      address_(RemoteAddress(socket_)),
      bytes_(wire::kEnrolHeaderBytes) {}

std::shared_ptr<EnrolGuest> EnrolGuest::Receive(Loop& loop, tcp::socket socket,
                                                const TlsIdentity& identity, Duration deadline,
                                                EnrolGuestOwner& owner) {
  std::shared_ptr<EnrolGuest> guest(new EnrolGuest(loop, std::move(socket), owner));
  error_code ignored;  // The first read will have the same failure.
  guest->socket_.non_blocking(true, ignored);
  guest->socket_.set_option(tcp::no_delay(true), ignored);
  guest->stream_ = MakeStrangerStream(guest->socket_, identity);
  guest->deadline_ = loop.CallAfter(deadline, [self = guest.get()] {
    self->End({Code::kDeadlineExceeded, "took too long to ask"});
  });
  guest->Await(tcp::socket::wait_read);
  return guest;
}

void EnrolGuest::Await(tcp::socket::wait_type what) {
  socket_.async_wait(what, [self = shared_from_this()](const error_code& error) {
    if (self->phase_ == Phase::kClosed) return;
    if (error) return self->End(SocketError("wait", error));
    self->Continue();
  });
}

void EnrolGuest::Continue() {
  switch (phase_) {
    case Phase::kSecuring:
      return Secure();
    case Phase::kReading:
      return Read();
    case Phase::kWriting:
      return Write();
    case Phase::kDraining:
      return Drain();
    case Phase::kClosed:
      return;
  }
}

void EnrolGuest::Secure() {
  const Result<bool> done = stream_->Handshake();
  if (!done.ok()) return End(done.status());
  if (*done) {
    phase_ = Phase::kReading;
    return Read();
  }
  const Result<bool> flushed = stream_->Flush();
  if (!flushed.ok()) return End(flushed.status());
  Await(*flushed ? tcp::socket::wait_read : tcp::socket::wait_write);
}

void EnrolGuest::Read() {
  for (;;) {
    const Result<std::size_t> n = stream_->Read(std::span(bytes_).subspan(done_));
    if (!n.ok()) return End(n.status());
    if (*n == 0) return Await(tcp::socket::wait_read);
    done_ += *n;
    if (done_ < bytes_.size()) continue;
    const auto header = std::span(bytes_).first<wire::kEnrolHeaderBytes>();
    const Result<std::size_t> body = wire::EnrolRequestBodyBytes(header);
    if (!body.ok()) return Answer(body.status());
    if (done_ == header.size() + *body) {
      return Answer(wire::DecodeEnrolRequest(std::span(bytes_).subspan(header.size())));
    }
    bytes_.resize(header.size() + *body);
  }
}

void EnrolGuest::Answer(const Result<wire::EnrolRequest>& request) {
  bytes_ = wire::EncodeEnrolAnswer(owner_->OnRequest(*this, request));
  done_ = 0;
  phase_ = Phase::kWriting;
  Write();
}

void EnrolGuest::Write() {
  while (done_ < bytes_.size()) {
    const Result<std::size_t> n = stream_->Write(std::span(bytes_).subspan(done_));
    if (!n.ok()) return End({});
    if (*n == 0) return Await(tcp::socket::wait_write);
    done_ += *n;
  }
  const Result<bool> flushed = stream_->Flush();
  if (!flushed.ok()) return End({});
  if (!*flushed) return Await(tcp::socket::wait_write);
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  phase_ = Phase::kDraining;
  Drain();
}

void EnrolGuest::Drain() {
  std::array<std::byte, 4096> rest;  // NOLINT: thrown away
  const Result<std::size_t> n = ReadSocket(socket_, rest);
  if (!n.ok()) return End({});
  Await(tcp::socket::wait_read);  // One piece per turn of the loop.
}

void EnrolGuest::End(const Status& why) {
  if (phase_ == Phase::kClosed) return;
  const bool was_answered = phase_ == Phase::kWriting || phase_ == Phase::kDraining;
  EnrolGuestOwner* owner = owner_;
  const std::shared_ptr<EnrolGuest> alive = shared_from_this();
  const Status reason =
      was_answered ? Status() : why;  // A copy: Close ends the timer it may be in.
  Close();
  owner->OnGone(*this, reason);
}

void EnrolGuest::Close() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  owner_ = nullptr;
  loop_.Cancel(deadline_);
  error_code ignored;
  socket_.close(ignored);
}

}  // namespace shoal::os
