// Links: every connection of a World, and what sim::SimNetwork stands on. Keeps the
// promises of base/network.h the way TCP does, and breaks down the way TCP does:
//
//   dialling    takes a round trip. A dead process on a living phone refuses
//               (kUnavailable); a dark phone, a frozen process and a cut cable do not
//               answer (kDeadlineExceeded after LinkModel::silence_limit). Dials that
//               cross become one link, that of the lower id. A new dial from a peer
//               that is still up replaces its old link (kCancelled).
//   closing     reaches the other side one delay later (kUnavailable), after the frames
//               that had left before. A phone that loses its power closes nothing.
//   silence     an end that hears nothing for silence_limit closes (kDeadlineExceeded).
//               Keep-alives are not simulated: an end is deaf exactly while its peer is
//               frozen or dark or the way to it is cut, and only a change of that costs
//               an event. One deaf end is enough to bring the link down: its closing
//               resets the other.
//   half open   an end whose peer has forgotten the connection is reset when it can
//               hear again and sends its next keep-alive, a quarter of the limit later.
//   loss        of a packet delays its class (Faults::frame_loss); a cut cable holds
//               frames back until the first retransmission after its repair.
//   waiting     bytes count against QueueBytesMax from Send until they are delivered: a
//               receiver that stands still fills the queue of its sender.
//
// Addresses are "sim:<node id>". Belongs to one World.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/network.h"
#include "base/random.h"
#include "sim/event_queue.h"
#include "sim/faults.h"
#include "sim/lane.h"
#include "sim/models.h"
#include "sim/node_map.h"
#include "sim/trace.h"

namespace shoal::sim {

// How a process ends.
enum class Death : std::uint8_t {
  kKilled,     // Its kernel tells the peers.
  kPowerLoss,  // The phone is dark: nobody tells anybody.
};

class Links {
 public:
  // `queue` and `trace` outlive it.
  Links(EventQueue& queue, Trace& trace, const LinkModel& model, const Random& random)
      : queue_(queue), trace_(trace), model_(model), random_(random) {}

  // Frame loss, jitter and bit flips from now on; the other faults are not for here.
  void SetFaults(const Faults& faults) { faults_ = faults; }

  // The index of `id`. One that is mentioned for the first time is dark until
  // ProcessStarted.
  NodeIndex IndexOf(NodeId id);
  // The same without mentioning it: kNoNode if it never was.
  NodeIndex FindIndex(NodeId id) const { return index_of_.Find(id); }
  NodeId IdOf(NodeIndex node) const { return hosts_[node].id; }

  // The calls of a node's Network, as base/network.h has them. Nothing happens, and Send
  // is kUnavailable, while the node's process is not running.
  void Attach(NodeIndex node, NetworkEvents* events);
  void Connect(NodeIndex node, NodeId peer, const std::string& address);
  void Disconnect(NodeIndex node, NodeId peer);
  Status Send(NodeIndex node, NodeId to, Traffic traffic, Frame frame);

  // What happens to phones.
  void ProcessStarted(NodeIndex node);
  void ProcessDied(NodeIndex node, Death how);
  void SetFrozen(NodeIndex node, bool frozen);

  // What happens to cables. Nodes of different groups cannot reach each other; all are
  // in group 0 at first. `groups` has one entry per node, missing ones are 0.
  void SetGroups(const std::vector<std::uint8_t>& groups);
  void SetCut(NodeId from, NodeId to, bool cut);
  void RepairAllCables();
  void SetRate(NodeId a, NodeId b, double bits_per_second);
  // Resets one connection of `node`, chosen at random; false if it has none.
  bool ResetOne(NodeIndex node, Random& random);

  // Takes the events that EventKind assigns to Links.
  void Handle(const Event& event);

 private:
  enum class State : std::uint8_t { kDown, kDialling, kUp };

  struct End {
    State state = State::kDown;
    bool deaf = false;
    std::array<bool, kTrafficClasses> refused{};  // OnWritable is owed.
    std::uint32_t connection = 0;  // Of the link; the newest one has the highest number.
    std::uint32_t silence = 0;     // Counts changes of `deaf`.
    Duration deaf_since{0};
  };
  struct Link {
    std::uint32_t index = 0;
    std::array<NodeIndex, 2> hosts{};
    std::array<End, 2> ends;
    std::array<Lane, 2> lanes;                                     // [e]: what end e sends.
    std::array<std::array<bool, kTrafficClasses>, 2> scheduled{};  // Has a kFrame event.
    std::array<bool, 2> cut{};      // [e]: what end e sends is swallowed.
    std::uint32_t connections = 0;  // Dialled so far.
    std::uint32_t connection = 0;   // That the lanes carry, and that an end that is up belongs to.
    bool broken = false;            // A packet of this connection was lost too often.
  };
  struct Host {
    NodeId id{0};
    bool running = false;
    bool frozen = false;
    bool dark = true;
    std::uint8_t group = 0;
    NetworkEvents* events = nullptr;
    std::uint32_t latest_link = NodeMap::kNone;  // Most nodes talk to one peer again and again.
    NodeId latest_peer{0};
    NodeMap link_of_peer;
    std::vector<std::uint32_t> links;
  };

  Link& LinkBetween(NodeIndex a, NodeIndex b);
  Link* FindLink(NodeIndex node, NodeId peer);
  static std::size_t EndOf(const Link& link, NodeIndex node) {
    return link.hosts[0] == node ? 0 : 1;
  }

  void PushTo(const Link& link, std::size_t end, EventKind kind, Duration at, std::uint32_t stamp,
              std::uint8_t detail = 0);
  // How long one message takes now, without queueing: delay, jitter and retransmissions.
  Duration DrawDelay();

  // links.cc: the life of a connection.
  void OnDial(Link& link, std::size_t end, const Event& event);
  void Accept(Link& link, std::size_t end, std::uint32_t connection);
  void OnAnswer(Link& link, std::size_t end, const Event& event);
  void OnClosed(Link& link, std::size_t end, const Event& event);
  void Close(Link& link, std::size_t end);
  void ReportUp(const Link& link, std::size_t end);
  void ReportDown(const Link& link, std::size_t end, Code code, const char* why);

  // link_frames.cc: what it carries.
  void Schedule(Link& link, std::size_t sender, Traffic traffic, Duration not_before);
  void OnFrame(Link& link, std::size_t end, const Event& event);
  void Deliver(const Link& link, std::size_t end, Traffic traffic, Frame frame);
  void OnWritable(Link& link, std::size_t end, const Event& event);

  // link_health.cc: what the ends hear of each other.
  bool Cut(const Link& link, std::size_t sender) const;
  bool Deaf(const Link& link, std::size_t end) const;
  void UpdateHearing(Link& link);
  void HearAgain(Link& link, std::size_t end);
  void ResetIfHalfOpen(const Link& link, std::size_t end);

  EventQueue& queue_;
  Trace& trace_;
  const LinkModel model_;
  Random random_;
  Faults faults_;
  NodeMap index_of_;
  std::vector<Host> hosts_;
  std::vector<std::unique_ptr<Link>>
      links_;  // Links stay where they are while callbacks add others.
};

}  // namespace shoal::sim
