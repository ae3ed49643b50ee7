#include <string>
#include <utility>

#include "base/check.h"
#include "os/net/link_internal.h"

namespace shoal::os {
namespace {

// A control frame that arrives just after a slice of activations was cut waits for
// it: 13 ms at 10 Mb/s. Also one TLS record.
constexpr std::size_t kMainSliceBytes = (std::size_t{16} << 10) - wire::kSliceHeaderBytes;
// What is cut and ordered at once; the more, the fewer system calls on a fast link.
constexpr std::size_t kMainBatchBytes = std::size_t{32} << 10;

Code CodeOf(wire::Verdict verdict) {
  switch (verdict) {
    case wire::Verdict::kWrongNode:
    case wire::Verdict::kWrongVersion:
    case wire::Verdict::kRevoked:
      return Code::kInvalidArgument;
    case wire::Verdict::kWelcome:
    case wire::Verdict::kYield:
    case wire::Verdict::kBusy:
    case wire::Verdict::kUnknownSession:
      break;
  }
  return Code::kUnavailable;
}

}  // namespace

Status RevokedStatus(NodeId peer) {
  return {Code::kInvalidArgument,
          "the certificate of node " + std::to_string(ToNumber(peer)) + " was revoked"};
}

Link::Link(const Config& config, LinkOwner& owner) : config_(config), owner_(owner) {
  deadline_ = config_.connections.loop.CallAfter(config_.handshake_max, [this] {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(config_.handshake_max);
    Fail({Code::kDeadlineExceeded,
          "no answer to the handshake within " + std::to_string(ms.count()) + " ms"});
  });
}

Link::~Link() { Close(); }

std::unique_ptr<Link> Link::Dial(const Config& config,
                                 Result<boost::asio::ip::tcp::endpoint> endpoint,
                                 LinkOwner& owner) {
  std::unique_ptr<Link> link(new Link(config, owner));
  if (endpoint.ok()) {
    link->endpoint_ = *endpoint;
    link->main_ = Connection::Dial(config.connections, link->endpoint_, *link);
    return link;
  }
  link->FailSoon(endpoint.status());
  return link;
}

void Link::FailSoon(const Status& why) {
  Loop& loop = config_.connections.loop;
  loop.Cancel(deadline_);
  deadline_ = loop.CallAt(loop.Now(), [this, why] { Fail(why); });
}

void Link::Refuse(const Status& why) {
  Yield();
  FailSoon(why);
}

std::unique_ptr<Link> Link::Accept(const Config& config, std::shared_ptr<Connection> main,
                                   LinkOwner& owner) {
  std::unique_ptr<Link> link(new Link(config, owner));
  link->main_ = std::move(main);
  link->main_->SetOwner(*link);
  link->main_->SendHello(link->HelloFor(wire::Role::kMain));
  return link;
}

void Link::AcceptBulk(std::shared_ptr<Connection> bulk) {
  SHOAL_CHECK(state_ == State::kHandshaking);
  SHOAL_CHECK(bulk_ == nullptr);
  bulk_ = std::move(bulk);
  bulk_->SetOwner(*this);
  bulk_->SendHello(HelloFor(wire::Role::kBulk));
  GoUp();
}

void Link::Yield() {
  if (main_ != nullptr) main_->Close();
  if (bulk_ != nullptr) bulk_->Close();
}

wire::Hello Link::HelloFor(wire::Role role) const {
  return {.role = role, .from = config_.self, .to = config_.peer, .session = config_.session};
}

void Link::OnSecured(Connection& connection) {
  const std::optional<NodeId> proven = connection.proven_peer();
  if (proven && *proven != config_.peer) {
    return Fail({Code::kInvalidArgument, "dialled node " + std::to_string(ToNumber(config_.peer)) +
                                             ", but the certificate there is of node " +
                                             std::to_string(ToNumber(*proven))});
  }
  if (connection.is_revoked()) return Fail(RevokedStatus(config_.peer));
  connection.SendHello(
      HelloFor(&connection == main_.get() ? wire::Role::kMain : wire::Role::kBulk));
}

Status Link::CheckAnswer(const wire::Hello& hello, wire::Role role) const {
  if (hello.verdict != wire::Verdict::kWelcome) {
    std::string why = "refused by the peer: " + std::string(wire::VerdictName(hello.verdict));
    if (hello.verdict == wire::Verdict::kRevoked) {
      why += "; to come back, delete its directory and join with a new token";
    }
    return {CodeOf(hello.verdict), std::move(why)};
  }
  if (hello.from != config_.peer || hello.to != config_.self) {
    return {Code::kInvalidArgument, "dialled node " + std::to_string(ToNumber(config_.peer)) +
                                        ", but node " + std::to_string(ToNumber(hello.from)) +
                                        " answered"};
  }
  if (hello.session != config_.session || hello.role != role) {
    return {Code::kCorruption, "hello: session or role is not the one that was sent"};
  }
  return {};
}

// Only dialled connections come here: an accepted one has said hello before.
void Link::OnHello(Connection& connection, const wire::Hello& hello) {
  const bool is_main = &connection == main_.get();
  if (is_main && hello.verdict == wire::Verdict::kYield) return Yield();
  const Status answer = CheckAnswer(hello, is_main ? wire::Role::kMain : wire::Role::kBulk);
  if (!answer.ok()) return Fail(answer);
  if (is_main) {
    bulk_ = Connection::Dial(config_.connections, endpoint_, *this);
  } else {
    GoUp();
  }
}

void Link::GoUp() {
  state_ = State::kUp;
  config_.connections.loop.Cancel(deadline_);
  main_->Open(wire::Role::kMain);
  bulk_->Open(wire::Role::kBulk);
  owner_.OnLinkUp(*this);
}

Status Link::Send(Traffic traffic, Frame frame) {
  SHOAL_CHECK(state_ == State::kUp);
  const bool is_bulk = traffic == Traffic::kBulk;
  wire::SendQueue& queue = is_bulk                        ? bulk_queue_
                           : traffic == Traffic::kControl ? control_
                                                          : activations_;
  SHOAL_RETURN_IF_ERROR(queue.Push(std::move(frame)));
  (is_bulk ? bulk_ : main_)->WriteSoon();
  return {};
}

void Link::OnFrame(Connection& /*connection*/, wire::Kind kind, Frame frame) {
  if (kind != wire::Kind::kBulkAck) {
    return owner_.OnLinkFrame(*this, wire::TrafficOf(kind), std::move(frame));
  }
  const Status status = window_.OnAck(config_.connections.loop.Now(), wire::DecodeBulkAck(frame));
  if (!status.ok()) return Fail(status);
  bulk_->WriteSoon();
}

void Link::OnReadEnd(Connection& connection) {
  if (&connection == bulk_.get() && bulk_->bulk_bytes() != acknowledged_bytes_) {
    main_->WriteSoon();
  }
}

void Link::FillBatch(Connection& connection, std::vector<std::byte>& batch) {
  if (&connection == main_.get()) {
    FillMain(batch);
  } else {
    FillBulk(batch);
  }
}

void Link::FillMain(std::vector<std::byte>& batch) {
  if (bulk_->bulk_bytes() != acknowledged_bytes_) {
    acknowledged_bytes_ = bulk_->bulk_bytes();
    wire::AppendFrame(wire::Kind::kBulkAck, wire::EncodeBulkAck(acknowledged_bytes_), batch);
  }
  for (wire::SendQueue* queue : {&control_, &activations_}) {
    while (!queue->empty() && batch.size() < kMainBatchBytes) {
      queue->TakeSlice(kMainSliceBytes, batch);
    }
  }
  TellWritable(control_, Traffic::kControl);
  TellWritable(activations_, Traffic::kActivations);
}

void Link::FillBulk(std::vector<std::byte>& batch) {
  while (!bulk_queue_.empty() && batch.size() < wire::BulkWindow::kSliceBytesMax) {
    const std::size_t sendable = window_.SendableBytes();
    if (sendable == 0) break;
    const std::size_t before = batch.size();
    bulk_queue_.TakeSlice(sendable - wire::kSliceHeaderBytes, batch);
    window_.OnSent(config_.connections.loop.Now(), batch.size() - before);
  }
  TellWritable(bulk_queue_, Traffic::kBulk);
}

void Link::TellWritable(wire::SendQueue& queue, Traffic traffic) {
  if (state_ == State::kUp && queue.TakeWritable()) owner_.OnLinkWritable(*this, traffic);
}

void Link::OnFailed(Connection& /*connection*/, const Status& why) { Fail(why); }

void Link::Fail(const Status& why) {
  if (state_ == State::kClosed) return;
  const Status reason = why;  // NOLINT: a copy, `why` may live in the timer that Close cancels
  Close();
  owner_.OnLinkDown(*this, reason);
}

void Link::Close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  config_.connections.loop.Cancel(deadline_);
  if (main_ != nullptr) main_->Close();
  if (bulk_ != nullptr) bulk_->Close();
}

}  // namespace shoal::os
