// How Links knows, without keep-alives, who can hear whom.
#include "sim/links.h"

namespace shoal::sim {
namespace {

// When TCP tries again for the first time after `elapsed` without an answer: its tries
// are 200 ms after the first, then 400 ms after that one, then 800 ms.
Duration NextRetransmission(Duration elapsed) {
  Duration step = std::chrono::milliseconds(200);
  Duration at = step;
  while (at < elapsed) at += step *= 2;
  return at;
}

}  // namespace

bool Links::Cut(const Link& link, std::size_t sender) const {
  return link.cut[sender] || hosts_[link.hosts[0]].group != hosts_[link.hosts[1]].group;
}

bool Links::Deaf(const Link& link, std::size_t end) const {
  const Host& peer = hosts_[link.hosts[1 - end]];
  return link.broken || peer.frozen || peer.dark || Cut(link, 1 - end);
}

void Links::ResetIfHalfOpen(const Link& link, std::size_t end) {
  const End& self = link.ends[end];
  const End& peer = link.ends[1 - end];
  if (peer.state != State::kDown && peer.connection == self.connection) return;
  // Its next keep-alive, of which it sends a few within the limit, is answered by a reset.
  const Duration next_keep_alive = model_.silence_limit / 4;
  PushTo(link, end, EventKind::kReset, queue_.now() + next_keep_alive + 2 * model_.delay,
         self.connection);
}

void Links::UpdateHearing(Link& link) {
  for (std::size_t end = 0; end < 2; ++end) {
    End& self = link.ends[end];
    if (self.state != State::kUp) continue;
    const bool deaf = Deaf(link, end);
    if (deaf && !self.deaf) {
      self.deaf = true;
      self.deaf_since = queue_.now();
      PushTo(link, end, EventKind::kSilence, queue_.now() + model_.silence_limit, ++self.silence);
    } else if (!deaf && self.deaf) {
      HearAgain(link, end);
    }
  }
}

void Links::HearAgain(Link& link, std::size_t end) {
  End& self = link.ends[end];
  self.deaf = false;
  ++self.silence;
  const Duration elapsed = queue_.now() - self.deaf_since;
  const Duration retransmission = self.deaf_since + NextRetransmission(elapsed);
  for (std::size_t i = 0; i < kTrafficClasses; ++i) {
    Schedule(link, 1 - end, static_cast<Traffic>(i), retransmission);
  }
  ResetIfHalfOpen(link, end);
}

void Links::ProcessStarted(NodeIndex node) {
  Host& host = hosts_[node];
  host.running = true;
  host.dark = false;
  for (const std::uint32_t index : host.links) UpdateHearing(*links_[index]);
}

void Links::ProcessDied(NodeIndex node, Death how) {
  Host& host = hosts_[node];
  host.running = false;
  host.frozen = false;
  host.dark = how == Death::kPowerLoss;
  host.events = nullptr;
  for (const std::uint32_t index : host.links) {
    Link& link = *links_[index];
    const std::size_t self = EndOf(link, node);
    if (how == Death::kKilled) {
      Close(link, self);
    } else if (link.ends[self].state != State::kDown) {
      link.ends[self].state = State::kDown;
      link.lanes[self].DropUnsent(queue_.now());
    }
    UpdateHearing(link);
  }
}

void Links::SetFrozen(NodeIndex node, bool frozen) {
  hosts_[node].frozen = frozen;
  for (const std::uint32_t index : hosts_[node].links) UpdateHearing(*links_[index]);
}

void Links::SetGroups(const std::vector<std::uint8_t>& groups) {
  for (std::size_t i = 0; i < hosts_.size(); ++i)
    hosts_[i].group = i < groups.size() ? groups[i] : 0;
  for (const std::unique_ptr<Link>& link : links_) UpdateHearing(*link);
}

void Links::SetCut(NodeId from, NodeId to, bool cut) {
  Link& link = LinkBetween(IndexOf(from), IndexOf(to));
  link.cut[EndOf(link, IndexOf(from))] = cut;
  UpdateHearing(link);
}

void Links::RepairAllCables() {
  for (const std::unique_ptr<Link>& link : links_) {
    link->cut = {};
    UpdateHearing(*link);
  }
}

void Links::SetRate(NodeId a, NodeId b, double bits_per_second) {
  Link& link = LinkBetween(IndexOf(a), IndexOf(b));
  for (Lane& lane : link.lanes) lane.SetRate(NanosecondsPerByte(bits_per_second));
}

bool Links::ResetOne(NodeIndex node, Random& random) {
  std::vector<std::uint32_t> up;
  for (const std::uint32_t index : hosts_[node].links) {
    const Link& link = *links_[index];
    if (link.ends[EndOf(link, node)].state == State::kUp) up.push_back(index);
  }
  if (up.empty()) return false;
  const Link& link = *links_[up[random.Below(up.size())]];
  for (std::size_t end = 0; end < 2; ++end) {
    PushTo(link, end, EventKind::kReset, queue_.now(), link.ends[end].connection);
  }
  return true;
}

}  // namespace shoal::sim
