#include "os/net/shaped_network.h"

#include <algorithm>
#include <utility>

namespace shoal::os {

void ShapedNetwork::Attach(NetworkEvents* events) {
  events_ = events;
  below_.Attach(events == nullptr ? nullptr : this);
}

void ShapedNetwork::Disconnect(NodeId peer) {
  links_.erase(peer);
  below_.Disconnect(peer);
}

void ShapedNetwork::OnPeerUp(NodeId peer) {
  links_[peer] = {.number = ++ups_, .free_at = clock_.Now()};
  events_->OnPeerUp(peer);
}

void ShapedNetwork::OnPeerDown(NodeId peer, const Status& why) {
  links_.erase(peer);
  events_->OnPeerDown(peer, why);
}

void ShapedNetwork::OnFrame(NodeId from, Traffic traffic, Frame frame) {
  events_->OnFrame(from, traffic, std::move(frame));
}

void ShapedNetwork::OnWritable(NodeId peer, Traffic traffic) { events_->OnWritable(peer, traffic); }

Status ShapedNetwork::Send(NodeId to, Traffic traffic, Frame frame) {
  if (shape_.delay == Duration{0} && shape_.bits_per_second <= 0) {
    return below_.Send(to, traffic, std::move(frame));
  }
  if (frame.size() > FrameBytesMax(traffic)) {
    return {Code::kInvalidArgument, "the frame is too large"};
  }
  const auto link = links_.find(to);
  if (link == links_.end()) return {Code::kUnavailable, "the peer is not up"};
  Instant& free_at = link->second.free_at;
  free_at = std::max(free_at, clock_.Now());
  if (shape_.bits_per_second > 0) {
    const double seconds = 8.0 * static_cast<double>(frame.size()) / shape_.bits_per_second;
    free_at = free_at + Duration(static_cast<Duration::rep>(seconds * 1e9));
  }
  clock_.CallAt(free_at + shape_.delay,
                [this, to, traffic, number = link->second.number, frame = std::move(frame),
                 alive = std::weak_ptr<int>(alive_)]() mutable {
                  if (alive.expired()) return;
                  const auto now = links_.find(to);
                  if (now == links_.end() || now->second.number != number) return;
                  (void)below_.Send(to, traffic, std::move(frame)).ok();
                });
  return {};
}

}  // namespace shoal::os
