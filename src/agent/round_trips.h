// RoundTrips: how long peers take to answer, usually. Single pings say little: one that came while
// its peer was busy, or while the Wi-Fi slept, made a plan change the order of nodes for nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>

#include "base/node_id.h"
#include "base/time.h"

namespace shoal::agent {

class RoundTrips {
 public:
  void Add(NodeId peer, Duration trip);
  void Forget(NodeId peer) { peers_.erase(peer); }
  // The median of a peer's last ones, as it was when it last was quite another: twice or half, and
  // by a millisecond at least. Nothing is known of others.
  std::map<NodeId, Duration> Usual() const;

 private:
  static constexpr std::size_t kRemembered = 7;
  static constexpr Duration kLittle = std::chrono::milliseconds(1);

  struct Peer {
    std::deque<Duration> trips;
    Duration usual{0};
  };
  std::map<NodeId, Peer> peers_;
};

}  // namespace shoal::agent
