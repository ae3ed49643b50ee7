// Neighbours: the nodes that a worker exchanges sums with in an epoch, and the links to them. Dials
// those that are not there, and again for a while: they may have been told later, or are just
// starting.
//
// Belongs to one event loop.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/network.h"

namespace shoal::train {

class Neighbours {
 public:
  // Both outlive it.
  Neighbours(Clock& clock, Network& network) : clock_(clock), network_(network) {}
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;

  // From now on these, each of which has an address.
  void Dial(std::uint64_t epoch, std::set<NodeId> peers, std::map<NodeId, std::string> addresses);
  // Nobody.
  void Clear();

  void OnPeerUp(NodeId peer) { up_.insert(peer); }
  // Whether a neighbour is lost: what was on its way is, or it cannot be reached.
  bool OnPeerDown(NodeId peer);
  // Who is connected, neighbour or not.
  const std::set<NodeId>& up() const { return up_; }

 private:
  Clock& clock_;
  Network& network_;
  std::set<NodeId> up_;
  std::uint64_t epoch_ = 0;
  std::set<NodeId> peers_;
  std::map<NodeId, std::string> addresses_;
  Instant dialled_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace shoal::train
