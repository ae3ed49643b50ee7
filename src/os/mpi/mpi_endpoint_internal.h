// MpiEndpoint: one node of an MpiHub, and its links.
//
// A link needs no handshake, but its ends can begin and end it at the same time. So the end of one
// is acknowledged: whoever has hung up ignores everything from that peer until the peer has said
// that it heard of it. What comes after that belongs to the next link.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "base/network.h"
#include "os/loop.h"

namespace shoal::os {

// The first three are Traffic's values.
enum class MpiKind : std::uint8_t { kControl, kActivations, kBulk, kUp, kDown, kDownHeard };
inline constexpr std::size_t kMpiKinds = 6;

// The hub, as an endpoint sees it.
class MpiRouter {
 public:
  virtual ~MpiRouter() = default;
  virtual bool Knows(NodeId node) const = 0;
  virtual void Route(NodeId from, NodeId to, MpiKind kind, Frame frame) = 0;
  // There is something to Pump.
  virtual void Wake() = 0;
};

class MpiEndpoint final : public Network {
 public:
  MpiEndpoint(Loop& loop, MpiRouter& router, NodeId self)
      : loop_(loop), router_(router), self_(self) {}

  NodeId self() const override { return self_; }
  void Attach(NetworkEvents* events) override { events_ = events; }
  void Connect(NodeId peer, const std::string& address) override;
  void Disconnect(NodeId peer) override;
  Status Send(NodeId to, Traffic traffic, Frame frame) override;

  // Hands frames that wait to the router, a few at a time, so that urgent ones can still pass.
  void Pump();
  void OnSent(NodeId to, std::size_t bytes);
  void OnMessage(NodeId from, MpiKind kind, Frame frame);

 private:
  // kDialled, kRefused: Connect was called and its event has not come.
  enum class State : std::uint8_t { kDown, kDialled, kRefused, kUp };

  struct Queue {
    std::deque<Frame> frames;
    std::size_t waiting_bytes = 0;
    bool refused = false;
  };
  struct Peer {
    State state = State::kDown;
    std::uint64_t dial = 0;         // The last Connect.
    std::size_t ends_unheard = 0;   // Times that we hung up and the peer has not said it heard.
    std::size_t leaving_bytes = 0;  // That the router has and MPI has not sent.
    std::array<Queue, kTrafficClasses> queues;
  };

  Status Check(NodeId peer, const std::string& address) const;
  void GoUp(NodeId peer, Peer& state);
  void GoDown(NodeId peer, Peer& state, const Status& why);
  void PumpPeer(NodeId id, Peer& peer);

  Loop& loop_;
  MpiRouter& router_;
  const NodeId self_;
  NetworkEvents* events_ = nullptr;
  std::map<NodeId, Peer> peers_;
  std::uint64_t dials_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace shoal::os
