#include "sim/links.h"

#include <charconv>
#include <utility>

#include "base/check.h"

namespace shoal::sim {
namespace {

// A dial or an answer that was swallowed is sent again, as TCP does with a SYN.
constexpr Duration kDialRetry = std::chrono::seconds(1);

constexpr std::string_view kScheme = "sim:";

Result<NodeId> ParseAddress(std::string_view address) {
  std::uint64_t number = 0;
  if (address.substr(0, kScheme.size()) == kScheme) {
    const char* end = address.data() + address.size();
    const auto parsed = std::from_chars(address.data() + kScheme.size(), end, number);
    if (parsed.ec == std::errc() && parsed.ptr == end) return NodeId{number};
  }
  return Status(Code::kInvalidArgument, "not an address");
}

const char* WhyClosed(EventKind kind) {
  switch (kind) {
    case EventKind::kReset:
      return "reset by peer";
    case EventKind::kDialDeadline:
      return "no answer";
    case EventKind::kSilence:
      return "silent for too long";
    default:
      return "dial failed";
  }
}

Code CodeOf(const Event& event) {
  if (event.kind == EventKind::kDialFailed) return static_cast<Code>(event.detail);
  return event.kind == EventKind::kReset ? Code::kUnavailable : Code::kDeadlineExceeded;
}

}  // namespace

NodeIndex Links::IndexOf(NodeId id) {
  const std::uint32_t known = index_of_.Find(id);
  if (known != NodeMap::kNone) return known;
  const auto index = static_cast<NodeIndex>(hosts_.size());
  hosts_.emplace_back();
  hosts_.back().id = id;
  index_of_.Insert(id, index);
  return index;
}

Links::Link* Links::FindLink(NodeIndex node, NodeId peer) {
  Host& host = hosts_[node];
  if (host.latest_peer != peer || host.latest_link == NodeMap::kNone) {
    host.latest_link = host.link_of_peer.Find(peer);
    host.latest_peer = peer;
  }
  return host.latest_link == NodeMap::kNone ? nullptr : links_[host.latest_link].get();
}

Links::Link& Links::LinkBetween(NodeIndex a, NodeIndex b) {
  if (Link* known = FindLink(a, hosts_[b].id)) return *known;
  const auto index = static_cast<std::uint32_t>(links_.size());
  links_.push_back(std::make_unique<Link>());
  Link& link = *links_.back();
  link.index = index;
  link.hosts = {a, b};
  for (Lane& lane : link.lanes) lane.SetRate(NanosecondsPerByte(model_.bits_per_second));
  hosts_[a].link_of_peer.Insert(hosts_[b].id, index);
  hosts_[a].links.push_back(index);
  if (a != b) {
    hosts_[b].link_of_peer.Insert(hosts_[a].id, index);
    hosts_[b].links.push_back(index);
  }
  return link;
}

void Links::PushTo(const Link& link, std::size_t end, EventKind kind, Duration at,
                   std::uint32_t stamp, std::uint8_t detail) {
  queue_.Push({.at = at,
               .node = link.hosts[end],
               .subject = link.index,
               .stamp = stamp,
               .kind = kind,
               .detail = detail,
               .end = static_cast<std::uint8_t>(end)});
}

void Links::Attach(NodeIndex node, NetworkEvents* events) {
  if (hosts_[node].running) hosts_[node].events = events;
}

void Links::Connect(NodeIndex node, NodeId peer, const std::string& address) {
  if (!hosts_[node].running) return;
  Link& link = LinkBetween(node, IndexOf(peer));
  const std::size_t self = EndOf(link, node);
  End& end = link.ends[self];
  if (end.state != State::kDown) return;
  end.state = State::kDialling;
  end.connection = ++link.connections;
  const Result<NodeId> found = ParseAddress(address);
  const Duration now = queue_.now();
  constexpr auto kInvalid = static_cast<std::uint8_t>(Code::kInvalidArgument);
  if (!found.ok()) {
    PushTo(link, self, EventKind::kDialFailed, now, end.connection, kInvalid);
  } else if (*found != peer || peer == hosts_[node].id) {  // Somebody else answers, or nobody else.
    PushTo(link, self, EventKind::kDialFailed, now + 2 * DrawDelay(), end.connection, kInvalid);
  } else {
    PushTo(link, 1 - self, EventKind::kDial, now + DrawDelay(), end.connection);
  }
  PushTo(link, self, EventKind::kDialDeadline, now + model_.silence_limit, end.connection);
}

void Links::Disconnect(NodeIndex node, NodeId peer) {
  Link* link = FindLink(node, peer);
  if (link != nullptr) Close(*link, EndOf(*link, node));
}

void Links::Handle(const Event& event) {
  Link& link = *links_[event.subject];
  switch (event.kind) {
    case EventKind::kDial:
      return OnDial(link, event.end, event);
    case EventKind::kAnswer:
      return OnAnswer(link, event.end, event);
    case EventKind::kFrame:
      return OnFrame(link, event.end, event);
    case EventKind::kWritable:
      return OnWritable(link, event.end, event);
    case EventKind::kDialFailed:
    case EventKind::kDialDeadline:
    case EventKind::kReset:
    case EventKind::kSilence:
      return OnClosed(link, event.end, event);
    default:
      SHOAL_CHECK(false);
  }
}

void Links::OnDial(Link& link, std::size_t end, const Event& event) {
  const std::size_t dialler = 1 - end;
  const End& caller = link.ends[dialler];
  if (caller.state != State::kDialling || caller.connection != event.stamp) return;
  const Host& host = hosts_[link.hosts[end]];
  const bool ours_goes_first =
      link.ends[end].state == State::kDialling && host.id < hosts_[link.hosts[dialler]].id;
  if (host.dark || Cut(link, dialler) || ours_goes_first) {
    return PushTo(link, end, EventKind::kDial, queue_.now() + kDialRetry, event.stamp);
  }
  if (!host.running) {
    return PushTo(link, dialler, EventKind::kDialFailed, queue_.now() + DrawDelay(), event.stamp,
                  static_cast<std::uint8_t>(Code::kUnavailable));
  }
  if (link.ends[end].state == State::kUp) {
    link.ends[end].state = State::kDown;
    ReportDown(link, end, Code::kCancelled, "replaced by a newer link");
  }
  Accept(link, end, event.stamp);
}

void Links::Accept(Link& link, std::size_t end, std::uint32_t connection) {
  link.connection = connection;
  link.broken = false;
  link.scheduled = {};
  for (Lane& lane : link.lanes) lane.Clear();
  End& self = link.ends[end];
  self = {.state = State::kUp, .connection = connection, .silence = self.silence + 1};
  PushTo(link, 1 - end, EventKind::kAnswer, queue_.now() + DrawDelay(), connection);
  UpdateHearing(link);
  ReportUp(link, end);
}

void Links::OnAnswer(Link& link, std::size_t end, const Event& event) {
  End& self = link.ends[end];
  if (self.state != State::kDialling || self.connection != event.stamp) return;
  const std::size_t other = 1 - end;
  if (Cut(link, other)) {
    return PushTo(link, end, EventKind::kAnswer, queue_.now() + kDialRetry, event.stamp);
  }
  self = {.state = State::kUp, .connection = event.stamp, .silence = self.silence + 1};
  for (std::size_t i = 0; i < kTrafficClasses; ++i) {
    Schedule(link, other, static_cast<Traffic>(i), queue_.now());
  }
  UpdateHearing(link);
  ResetIfHalfOpen(link, end);
  ReportUp(link, end);
}

void Links::OnClosed(Link& link, std::size_t end, const Event& event) {
  const End& self = link.ends[end];
  if (event.kind == EventKind::kSilence) {
    if (self.state != State::kUp || !self.deaf || self.silence != event.stamp) return;
  } else if (self.state == State::kDown || self.connection != event.stamp) {
    return;
  }
  if (event.kind == EventKind::kDialDeadline && self.state != State::kDialling) return;
  // One that is swallowed on its way comes again when this end can hear (ResetIfHalfOpen).
  if (event.kind == EventKind::kReset && (link.broken || Cut(link, 1 - end))) return;
  Close(link, end);
  ReportDown(link, end, CodeOf(event), WhyClosed(event.kind));
}

void Links::Close(Link& link, std::size_t end) {
  End& self = link.ends[end];
  if (self.state == State::kDown) return;
  self.state = State::kDown;
  const End& peer = link.ends[1 - end];
  link.lanes[end].DropUnsent(queue_.now());
  const bool can_tell = !link.broken && !Cut(link, end);
  if (can_tell && peer.state != State::kDown && peer.connection == self.connection) {
    PushTo(link, 1 - end, EventKind::kReset, queue_.now() + DrawDelay(), self.connection);
  }
}

void Links::ReportUp(const Link& link, std::size_t end) {
  const Host& host = hosts_[link.hosts[end]];
  const NodeId peer = hosts_[link.hosts[1 - end]].id;
  trace_.Add(queue_.now(), host.id, Happening::kPeerUp, ToNumber(peer));
  if (host.events != nullptr) host.events->OnPeerUp(peer);
}

void Links::ReportDown(const Link& link, std::size_t end, Code code, const char* why) {
  const Host& host = hosts_[link.hosts[end]];
  const NodeId peer = hosts_[link.hosts[1 - end]].id;
  const auto number = static_cast<std::uint64_t>(code);
  trace_.Add(queue_.now(), host.id, Happening::kPeerDown, ToNumber(peer) << 8U | number);
  if (host.events != nullptr) host.events->OnPeerDown(peer, Status(code, why));
}

}  // namespace shoal::sim
