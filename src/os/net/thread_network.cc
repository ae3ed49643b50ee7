#include "os/net/thread_network.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/thread_annotations.h"

namespace shoal::os {
namespace {

// As in wire/send_queue.cc: without it, empty frames would be free and the queue unbounded.
constexpr std::size_t kFrameCostMin = 64;

std::size_t Cost(const Frame& frame) { return std::max(frame.size(), kFrameCostMin); }

// What one node sends another in one class and the other has not taken.
struct Queue {
  std::size_t waiting_bytes = 0;
  bool refused = false;
};

struct Link {
  std::size_t SideOf(NodeId node) const { return node == ends[0] ? 0 : 1; }

  std::array<NodeId, 2> ends{};
  bool open = true;
  std::array<bool, 2> told{};  // Whether this end has heard that it is up.
  std::array<std::array<Queue, kTrafficClasses>, 2> queues{};  // Of this end, by class.
};

enum class Kind : std::uint8_t { kUp, kDown, kWritable, kFrame };

struct Event {
  Kind kind = Kind::kUp;
  NodeId peer{};
  std::shared_ptr<Link> link;
  Traffic traffic = Traffic::kControl;
  Frame frame = {};
  Status why = {};
};

// What links have to tell goes before all frames: a link is up before its first, and those of a
// link that has ended are dropped.
constexpr std::size_t kUrgencies = 1 + kTrafficClasses;
std::size_t UrgencyOf(const Event& event) {
  return event.kind == Kind::kFrame ? 1 + static_cast<std::size_t>(event.traffic) : 0;
}

struct Node {
  Loop* loop = nullptr;
  std::map<NodeId, std::shared_ptr<Link>> links;
  std::array<std::deque<Event>, kUrgencies> inbox;
  NetworkEvents* events = nullptr;  // Of its loop alone; all else is the hub's.
};

Status NoSuchPeer(NodeId node) {
  return {Code::kUnavailable, "node " + std::to_string(ToNumber(node)) + " is not up"};
}

}  // namespace

// Who is there and who is linked with whom. One lock for all: it is held to move a pointer.
class ThreadNetworks::Hub : public std::enable_shared_from_this<Hub> {
 public:
  std::shared_ptr<Node> Join(Loop& loop, NodeId self) SHOAL_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    std::shared_ptr<Node>& node = nodes_[self];
    SHOAL_CHECK(node == nullptr);
    node = std::make_shared<Node>();
    node->loop = &loop;
    return node;
  }

  void Leave(NodeId self) SHOAL_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    Node& node = *nodes_.at(self);
    while (!node.links.empty()) End(self, node.links.begin()->first);
    for (std::deque<Event>& events : node.inbox) events.clear();
    nodes_.erase(self);
  }

  void Connect(NodeId self, NodeId peer, const std::string& address) SHOAL_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    Node& node = *nodes_.at(self);
    if (node.links.contains(peer)) return;
    auto link = std::make_shared<Link>();
    link->ends = {self, peer};
    node.links[peer] = link;
    Status why = Check(self, peer, address);
    if (!why.ok()) {
      link->open = false;
      return Tell(self, {.kind = Kind::kDown, .peer = peer, .link = link, .why = std::move(why)});
    }
    // One that ended and has not been heard of there is replaced; it is told of first.
    nodes_.at(peer)->links[self] = link;
    Tell(self, {.kind = Kind::kUp, .peer = peer, .link = link});
    Tell(peer, {.kind = Kind::kUp, .peer = self, .link = link});
  }

  void Disconnect(NodeId self, NodeId peer) SHOAL_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    End(self, peer);
    for (std::deque<Event>& events : nodes_.at(self)->inbox) {
      std::erase_if(events, [&](const Event& event) { return event.peer == peer; });
    }
  }

  Status Send(NodeId self, NodeId to, Traffic traffic, Frame frame) SHOAL_EXCLUDES(mutex_) {
    if (frame.size() > FrameBytesMax(traffic)) {
      return {Code::kInvalidArgument, "a frame of " + std::to_string(frame.size()) +
                                          " bytes, the limit is " +
                                          std::to_string(FrameBytesMax(traffic))};
    }
    MutexLock lock(mutex_);
    const Node& node = *nodes_.at(self);
    const auto found = node.links.find(to);
    if (found == node.links.end()) return NoSuchPeer(to);
    Link& link = *found->second;
    const std::size_t side = link.SideOf(self);
    if (!link.told[side]) return NoSuchPeer(to);
    if (!link.open) return {};  // Lost, as everything in flight when a link ends.
    Queue& queue = link.queues[side][static_cast<std::size_t>(traffic)];
    if (queue.waiting_bytes + Cost(frame) > QueueBytesMax(traffic)) {
      queue.refused = true;
      return {Code::kResourceExhausted,
              "the queue is full: " + std::to_string(queue.waiting_bytes) + " bytes wait"};
    }
    queue.waiting_bytes += Cost(frame);
    Tell(to, {.kind = Kind::kFrame,
              .peer = self,
              .link = found->second,
              .traffic = traffic,
              .frame = std::move(frame)});
    return {};
  }

  // The most urgent event that waits for `self`, if it is still to be told.
  std::optional<Event> Take(NodeId self, Node& node) SHOAL_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    const auto events = std::find_if(node.inbox.begin(), node.inbox.end(),
                                     [](const auto& waiting) { return !waiting.empty(); });
    if (events == node.inbox.end()) return std::nullopt;
    Event event = std::move(events->front());
    events->pop_front();
    if (!Begin(self, node, event)) return std::nullopt;
    return event;
  }

 private:
  Status Check(NodeId self, NodeId peer, const std::string& address) const SHOAL_REQUIRES(mutex_) {
    if (address != AddressOf(peer)) {
      return {Code::kInvalidArgument, "\"" + address + "\" is not the address of node " +
                                          std::to_string(ToNumber(peer)) + ", which is " +
                                          AddressOf(peer)};
    }
    if (peer == self) return {Code::kInvalidArgument, "a node cannot dial itself"};
    return nodes_.contains(peer) ? Status() : NoSuchPeer(peer);
  }

  // Puts an event into the inbox of `node`, which may have left.
  void Tell(NodeId to, Event event) SHOAL_REQUIRES(mutex_) {
    const auto found = nodes_.find(to);
    if (found == nodes_.end()) return;
    Node& node = *found->second;
    node.inbox[UrgencyOf(event)].push_back(std::move(event));
    node.loop->Post([hub = shared_from_this(), to, shared = found->second] {
      if (std::optional<Event> next = hub->Take(to, *shared)) Raise(*shared, std::move(*next));
    });
  }

  static void Raise(const Node& node, Event event) {
    if (node.events == nullptr) return;
    switch (event.kind) {
      case Kind::kUp:
        return node.events->OnPeerUp(event.peer);
      case Kind::kDown:
        return node.events->OnPeerDown(event.peer, event.why);
      case Kind::kWritable:
        return node.events->OnWritable(event.peer, event.traffic);
      case Kind::kFrame:
        return node.events->OnFrame(event.peer, event.traffic, std::move(event.frame));
    }
  }

  // What an event means for the link. False: it is out of date.
  bool Begin(NodeId self, Node& node, const Event& event) SHOAL_REQUIRES(mutex_) {
    Link& link = *event.link;
    const std::size_t side = link.SideOf(self);
    switch (event.kind) {
      case Kind::kUp:
        link.told[side] = true;
        return true;
      case Kind::kDown: {
        const auto found = node.links.find(event.peer);
        if (found != node.links.end() && found->second == event.link) node.links.erase(found);
        return true;
      }
      case Kind::kWritable:
        return link.open;
      case Kind::kFrame:
        Drain(event, 1 - side);
        return link.open;
    }
    return false;
  }

  // The frame leaves the queue of its sender.
  void Drain(const Event& event, std::size_t sender) SHOAL_REQUIRES(mutex_) {
    Queue& queue = event.link->queues[sender][static_cast<std::size_t>(event.traffic)];
    queue.waiting_bytes -= Cost(event.frame);
    if (!queue.refused || queue.waiting_bytes > QueueBytesMax(event.traffic) / 2) return;
    queue.refused = false;
    Tell(event.peer, {.kind = Kind::kWritable,
                      .peer = event.link->ends[1 - sender],
                      .link = event.link,
                      .traffic = event.traffic});
  }

  // Ends the link without a word here; the other end is told.
  void End(NodeId self, NodeId peer) SHOAL_REQUIRES(mutex_) {
    Node& node = *nodes_.at(self);
    const auto found = node.links.find(peer);
    if (found == node.links.end()) return;
    const std::shared_ptr<Link> link = found->second;
    node.links.erase(found);
    if (!std::exchange(link->open, false)) return;
    Tell(peer, {.kind = Kind::kDown,
                .peer = self,
                .link = link,
                .why = {Code::kUnavailable, "the peer hung up"}});
  }

  Mutex mutex_;
  std::map<NodeId, std::shared_ptr<Node>> nodes_ SHOAL_GUARDED_BY(mutex_);
};

class ThreadNetworks::Member final : public Network {
 public:
  Member(std::shared_ptr<Hub> hub, Loop& loop, NodeId self)
      : hub_(std::move(hub)), self_(self), node_(hub_->Join(loop, self)) {}
  ~Member() override { hub_->Leave(self_); }

  NodeId self() const override { return self_; }
  void Attach(NetworkEvents* events) override { node_->events = events; }
  void Connect(NodeId peer, const std::string& address) override {
    hub_->Connect(self_, peer, address);
  }
  void Disconnect(NodeId peer) override { hub_->Disconnect(self_, peer); }
  Status Send(NodeId to, Traffic traffic, Frame frame) override {
    return hub_->Send(self_, to, traffic, std::move(frame));
  }

 private:
  const std::shared_ptr<Hub> hub_;
  const NodeId self_;
  const std::shared_ptr<Node> node_;
};

ThreadNetworks::ThreadNetworks() : hub_(std::make_shared<Hub>()) {}
ThreadNetworks::~ThreadNetworks() = default;

std::unique_ptr<Network> ThreadNetworks::Join(Loop& loop, NodeId self) {
  return std::make_unique<Member>(hub_, loop, self);
}

std::string ThreadNetworks::AddressOf(NodeId node) {
  return "thread:" + std::to_string(ToNumber(node));
}

}  // namespace shoal::os
