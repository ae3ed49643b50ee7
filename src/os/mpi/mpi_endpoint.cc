#include <algorithm>
#include <utility>

#include "os/mpi/mpi_endpoint_internal.h"
#include "os/mpi/mpi_network.h"

namespace shoal::os {
namespace {

// As in wire/send_queue.cc: without it, empty frames would be free and the queue unbounded.
constexpr std::size_t kFrameCostMin = 64;
// Given to MPI at once for a peer. What MPI has cannot be overtaken: 8 ms of a 1 Gb/s link.
constexpr std::size_t kLeavingBytesMax = std::size_t{1} << 20;

std::size_t Cost(const Frame& frame) { return std::max(frame.size(), kFrameCostMin); }

std::string NameOf(NodeId node) { return "node " + std::to_string(ToNumber(node)); }

}  // namespace

Status MpiEndpoint::Check(NodeId peer, const std::string& address) const {
  if (address != MpiHub::AddressOf(peer)) {
    return {Code::kInvalidArgument, "\"" + address + "\" is not the address of " + NameOf(peer) +
                                        ", which is " + MpiHub::AddressOf(peer)};
  }
  if (peer == self_) return {Code::kInvalidArgument, "a node cannot dial itself"};
  if (!router_.Knows(peer)) return {Code::kUnavailable, "mpirun has started no " + NameOf(peer)};
  return {};
}

void MpiEndpoint::Connect(NodeId peer, const std::string& address) {
  Peer& state = peers_[peer];
  if (state.state != State::kDown) return;
  const Status why = Check(peer, address);
  state.state = why.ok() ? State::kDialled : State::kRefused;
  state.dial = ++dials_;
  if (why.ok()) router_.Route(self_, peer, MpiKind::kUp, {});
  loop_.Post([this, alive = std::weak_ptr<int>(alive_), peer, dial = state.dial, why] {
    if (alive.expired()) return;
    Peer& dialled = peers_[peer];
    if (dialled.dial != dial) return;
    if (dialled.state == State::kDialled) GoUp(peer, dialled);
    if (dialled.state == State::kRefused) GoDown(peer, dialled, why);
  });
}

void MpiEndpoint::Disconnect(NodeId peer) {
  Peer& state = peers_[peer];
  const State before = std::exchange(state.state, State::kDown);
  state.queues = {};
  if (before != State::kUp && before != State::kDialled) return;
  ++state.ends_unheard;
  router_.Route(self_, peer, MpiKind::kDown, {});
}

void MpiEndpoint::GoUp(NodeId peer, Peer& state) {
  state.state = State::kUp;
  if (events_ != nullptr) events_->OnPeerUp(peer);
}

void MpiEndpoint::GoDown(NodeId peer, Peer& state, const Status& why) {
  state.state = State::kDown;
  state.queues = {};
  if (events_ != nullptr) events_->OnPeerDown(peer, why);
}

Status MpiEndpoint::Send(NodeId to, Traffic traffic, Frame frame) {
  if (frame.size() > FrameBytesMax(traffic)) {
    return {Code::kInvalidArgument, "a frame of " + std::to_string(frame.size()) +
                                        " bytes, the limit is " +
                                        std::to_string(FrameBytesMax(traffic))};
  }
  Peer& peer = peers_[to];
  if (peer.state != State::kUp) return {Code::kUnavailable, NameOf(to) + " is not up"};
  Queue& queue = peer.queues[static_cast<std::size_t>(traffic)];
  if (queue.waiting_bytes + Cost(frame) > QueueBytesMax(traffic)) {
    queue.refused = true;
    return {Code::kResourceExhausted,
            "the queue is full: " + std::to_string(queue.waiting_bytes) + " bytes wait"};
  }
  queue.waiting_bytes += Cost(frame);
  queue.frames.push_back(std::move(frame));
  router_.Wake();
  return {};
}

void MpiEndpoint::Pump() {
  for (auto& [id, peer] : peers_) PumpPeer(id, peer);
}

void MpiEndpoint::PumpPeer(NodeId id, Peer& peer) {
  for (std::size_t kind = 0; kind < kTrafficClasses; ++kind) {
    Queue& queue = peer.queues[kind];
    while (!queue.frames.empty() && peer.leaving_bytes < kLeavingBytesMax) {
      Frame frame = std::move(queue.frames.front());
      queue.frames.pop_front();
      queue.waiting_bytes -= Cost(frame);
      peer.leaving_bytes += frame.size();
      router_.Route(self_, id, static_cast<MpiKind>(kind), std::move(frame));
    }
    const auto traffic = static_cast<Traffic>(kind);
    if (!queue.refused || queue.waiting_bytes > QueueBytesMax(traffic) / 2) continue;
    queue.refused = false;
    if (events_ != nullptr) events_->OnWritable(id, traffic);
  }
}

void MpiEndpoint::OnSent(NodeId to, std::size_t bytes) { peers_[to].leaving_bytes -= bytes; }

void MpiEndpoint::OnMessage(NodeId from, MpiKind kind, Frame frame) {
  Peer& peer = peers_[from];
  switch (kind) {
    case MpiKind::kDownHeard:
      peer.ends_unheard -= std::min<std::size_t>(peer.ends_unheard, 1);
      return;
    case MpiKind::kDown:
      // It ignores us until it reads this: whatever we believe of the link, it is over.
      router_.Route(self_, from, MpiKind::kDownHeard, {});
      if (peer.state == State::kUp || peer.state == State::kDialled) {
        GoDown(from, peer, {Code::kUnavailable, "the peer hung up"});
      }
      return;
    case MpiKind::kUp:
      if (peer.ends_unheard == 0 && peer.state != State::kUp) GoUp(from, peer);
      return;
    case MpiKind::kControl:
    case MpiKind::kActivations:
    case MpiKind::kBulk:
      break;
  }
  if (peer.ends_unheard > 0 || peer.state == State::kRefused) return;
  if (peer.state == State::kDialled) GoUp(from, peer);
  if (peer.state != State::kUp || events_ == nullptr) return;
  events_->OnFrame(from, static_cast<Traffic>(kind), std::move(frame));
}

}  // namespace shoal::os
