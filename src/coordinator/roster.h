// Roster: who is a member now, what each said of itself, and when it was last heard of.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/network.h"
#include "base/time.h"
#include "coordinator/speed_belief.h"
#include "pipeline/plan_costs.h"
#include "wire/control.h"

namespace shoal::coordinator {

struct Member {
  wire::pb::NodeHello hello;
  wire::pb::Telemetry telemetry;
  Instant heard;
  bool greeted = false;          // Its hello has come.
  bool told_of_refusal = false;  // It asked for what is not its business.
  bool told_of_garbage = false;  // It sent what no node sends.
  bool draining = false;         // Gets nothing new to do: an operator says so.
  bool resting = false;          // The same: its battery, heat or owner says so.
  bool trusted = false;          // May hold the ends of the model.
  bool quarantined = false;      // Found to compute wrongly: gets nothing to do.
  double duty = 1;               // Of the time, how much it was told to compute at most.
  std::set<std::string> layers;  // SHA-256 of those that it has on its flash.
};

// Belongs to one event loop. Nodes are those whose link is up.
class Roster {
 public:
  void Arrived(NodeId node, Instant now);
  // Forgets it, and what is known about its links.
  void Left(NodeId node);
  Member* Find(NodeId node);
  const Member* Find(NodeId node) const;
  const std::map<NodeId, Member>& members() const { return members_; }
  std::map<NodeId, Member>& members() { return members_; }

  // It failed or was too slow: until then it is used only if it must be, also if it comes anew.
  void Avoid(NodeId node, Instant until) { avoid_[node] = until; }
  bool IsAvoided(NodeId node, Instant now) const;
  // A node says how long it took against what its profile promises. What is believed of it outlives
  // its link.
  void Measured(NodeId node, double slowness, Instant now);
  // Changes when what is believed of a node does.
  std::uint64_t beliefs() const { return beliefs_; }
  // What is believed; nothing: it has not worked lately.
  std::optional<double> Slowness(NodeId node, Instant now) const;
  // Those that can be given layers, as fast as they are believed to be, with the latencies that
  // they measured; `taken` left out. Profiles are off by a factor that all share: who has not
  // worked lately counts as the median of those that have.
  pipeline::PlanCluster Candidates(Instant now, const std::set<NodeId>& taken = {}) const;

  // `from` cannot reach `to`: the head passes their frames on.
  void SetUnreachable(NodeId from, NodeId to) { unreachable_.insert({from, to}); }
  // Nor are they to, from now on: each says that the other lies.
  void KeepApart(NodeId from, NodeId to) { apart_.insert({from, to}); }
  bool Reachable(NodeId from, NodeId to) const {
    return !unreachable_.contains({from, to}) && !apart_.contains({from, to});
  }

 private:
  // Of the members of which it is known; 1 if of none.
  double UsualSlowness(Instant now) const;

  std::map<NodeId, Member> members_;
  std::set<std::pair<NodeId, NodeId>> unreachable_;
  std::set<std::pair<NodeId, NodeId>> apart_;  // Also of those that left and came back.
  std::map<NodeId, Instant> avoid_;
  std::map<NodeId, SpeedBelief> speeds_;
  std::uint64_t beliefs_ = 0;
};

}  // namespace shoal::coordinator
