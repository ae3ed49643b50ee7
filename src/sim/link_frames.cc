// How Links carries frames from Send to OnFrame.
#include <algorithm>
#include <utility>

#include "sim/links.h"

namespace shoal::sim {
namespace {

// TCP sends a lost packet again after this long, and doubles it every time.
constexpr Duration kRetransmitFirst = std::chrono::milliseconds(200);

std::uint64_t HashOf(NodeId from, Traffic traffic, const Frame& frame) {
  Fingerprint hash;
  hash.Add(ToNumber(from));
  hash.Add(static_cast<std::uint64_t>(traffic));
  hash.AddBytes(frame);
  return hash.value();
}

}  // namespace

Duration Links::DrawDelay() {
  Duration delay = model_.delay;
  if (faults_.delay_jitter_mean > Duration(0)) {
    const auto mean = static_cast<double>(faults_.delay_jitter_mean.count());
    delay += Duration(static_cast<std::int64_t>(random_.Exponential(mean)));
  }
  if (faults_.frame_loss <= 0) return delay;
  Duration retransmit = kRetransmitFirst;
  // Beyond the silence limit nobody waits for it any more.
  while (delay <= model_.silence_limit && random_.Chance(faults_.frame_loss)) {
    delay += retransmit;
    retransmit *= 2;
    trace_.Add(queue_.now(), NodeId{0}, Happening::kFrameLost);
  }
  return delay;
}

Status Links::Send(NodeIndex node, NodeId to, Traffic traffic, Frame frame) {
  if (frame.size() > FrameBytesMax(traffic)) {
    return {Code::kInvalidArgument, "frame is larger than its class allows"};
  }
  Link* link = FindLink(node, to);
  if (link == nullptr) return {Code::kUnavailable, "peer is not up"};
  const std::size_t self = EndOf(*link, node);
  End& end = link->ends[self];
  if (end.state != State::kUp) return {Code::kUnavailable, "peer is not up"};
  Lane& lane = link->lanes[self];
  const std::size_t counted = Lane::CountedBytes(frame.size());
  if (lane.waiting_bytes(traffic) + counted > QueueBytesMax(traffic)) {
    end.refused[static_cast<std::size_t>(traffic)] = true;
    return {Code::kResourceExhausted, "too much is waiting for this peer"};
  }
  const Duration delay = DrawDelay();
  lane.Put(queue_.now(), traffic, std::move(frame), delay);
  Schedule(*link, self, traffic, queue_.now());
  if (faults_.frame_loss > 0 && delay > model_.silence_limit) {
    link->broken = true;
    UpdateHearing(*link);
  }
  return {};
}

void Links::Schedule(Link& link, std::size_t sender, Traffic traffic, Duration not_before) {
  bool& scheduled = link.scheduled[sender][static_cast<std::size_t>(traffic)];
  const Lane& lane = link.lanes[sender];
  if (scheduled || lane.empty(traffic)) return;
  scheduled = true;
  PushTo(link, 1 - sender, EventKind::kFrame, std::max(not_before, lane.Arrival(traffic)),
         link.connection, static_cast<std::uint8_t>(traffic));
}

void Links::OnFrame(Link& link, std::size_t end, const Event& event) {
  if (event.stamp != link.connection) return;
  const std::size_t sender = 1 - end;
  const auto traffic = static_cast<Traffic>(event.detail);
  Lane& lane = link.lanes[sender];
  link.scheduled[sender][event.detail] = false;
  const End& self = link.ends[end];
  if (lane.empty(traffic)) return;               // Its sender died before it left.
  if (link.broken || Cut(link, sender)) return;  // HearAgain schedules it.
  if (self.connection != link.connection || self.state == State::kDown) return lane.Clear();
  if (self.state == State::kDialling) return;  // OnAnswer schedules it.
  if (lane.Arrival(traffic) > queue_.now()) {  // It was overtaken on the wire.
    return Schedule(link, sender, traffic, queue_.now());
  }
  Frame frame = lane.Take(queue_.now(), traffic);
  Schedule(link, sender, traffic, queue_.now());
  bool& refused = link.ends[sender].refused[event.detail];
  if (refused && lane.waiting_bytes(traffic) <= QueueBytesMax(traffic) / 2) {
    refused = false;
    PushTo(link, sender, EventKind::kWritable, queue_.now() + model_.delay, link.connection,
           event.detail);
  }
  Deliver(link, end, traffic, std::move(frame));
}

void Links::Deliver(const Link& link, std::size_t end, Traffic traffic, Frame frame) {
  const Host& host = hosts_[link.hosts[end]];
  const NodeId from = hosts_[link.hosts[1 - end]].id;
  if (faults_.bit_flip > 0 && random_.Chance(faults_.bit_flip) && !frame.empty()) {
    const std::uint64_t bit = random_.Below(std::uint64_t{frame.size()} * 8);
    frame[static_cast<std::size_t>(bit / 8)] ^= std::byte{1} << (bit % 8);
    trace_.Add(queue_.now(), host.id, Happening::kBitFlip, bit);
  }
  trace_.Add(queue_.now(), host.id, Happening::kFrame, HashOf(from, traffic, frame));
  if (host.events != nullptr) host.events->OnFrame(from, traffic, std::move(frame));
}

void Links::OnWritable(Link& link, std::size_t end, const Event& event) {
  const End& self = link.ends[end];
  if (self.state != State::kUp || self.connection != event.stamp) return;
  const Host& host = hosts_[link.hosts[end]];
  const NodeId peer = hosts_[link.hosts[1 - end]].id;
  trace_.Add(queue_.now(), host.id, Happening::kWritable, event.detail);
  if (host.events != nullptr) host.events->OnWritable(peer, static_cast<Traffic>(event.detail));
}

}  // namespace shoal::sim
