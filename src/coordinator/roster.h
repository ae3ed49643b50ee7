// Roster: who is a member now, what each said of itself, and when it was last heard of.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/network.h"
#include "base/time.h"
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
  bool draining = false;         // Gets nothing new to do.
  std::set<std::string> layers;  // SHA-256 of those that it has on its flash.
};

// Belongs to one event loop. Nodes are those whose link is up.
class Roster {
 public:
  void Arrived(NodeId node, Instant now);
  // Forgets it, and what is known about its links.
  void Left(NodeId node);
  Member* Find(NodeId node);
  const std::map<NodeId, Member>& members() const { return members_; }
  std::map<NodeId, Member>& members() { return members_; }

  // It failed or was too slow: until then it is used only if it must be, also if it comes anew.
  void Avoid(NodeId node, Instant until) { avoid_[node] = until; }
  bool IsAvoided(NodeId node, Instant now) const;
  // Those that can be given layers, with the latencies that they measured; `taken` left out.
  pipeline::PlanCluster Candidates(Instant now, const std::set<NodeId>& taken = {}) const;

  // `from` cannot reach `to`: the head passes their frames on.
  void SetUnreachable(NodeId from, NodeId to) { unreachable_.insert({from, to}); }
  bool Reachable(NodeId from, NodeId to) const { return !unreachable_.contains({from, to}); }

 private:
  std::map<NodeId, Member> members_;
  std::set<std::pair<NodeId, NodeId>> unreachable_;
  std::map<NodeId, Instant> avoid_;
};

}  // namespace shoal::coordinator
