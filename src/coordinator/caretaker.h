// Caretaker: looks after all nodes of a cluster: what each may do (see care.h), and which of their
// sensors are out of order. Remembers those that are away for a while.
//
// Belongs to one event loop.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/node_id.h"
#include "base/time.h"
#include "coordinator/care.h"
#include "coordinator/roster.h"
#include "wire/control.h"

namespace shoal::coordinator {

// What a node says of its sensors, as far as it may be shown: it says so itself, and may say
// anything.
std::vector<std::string> PlainDoubts(const wire::pb::Telemetry& telemetry);

class Caretaker {
 public:
  // `local_minute`: of the day, where the head is; empty: hours do not count.
  Caretaker(std::function<int()> local_minute, const std::map<NodeId, WorkRules>& rules);

  void SetRules(NodeId node, const WorkRules& rules) { nodes_[node].care.SetRules(rules); }
  void OnHello(NodeId node, const wire::pb::NodeHello& hello);
  void OnTelemetry(NodeId node, const wire::pb::Telemetry& telemetry, Instant now);

  // Judges a node anew; to be called about every second. What is new: a line each.
  std::vector<std::string> Look(NodeId node, Instant now);
  const CareVerdict& VerdictOn(NodeId node) { return nodes_[node].care.verdict(); }

  // Why answers wait, if they do so because of `why`: nodes that rest are named.
  std::string WhyWaiting(const std::string& why, const Roster& roster) const;

 private:
  struct Node {
    NodeCare care;
    std::string name;              // "node 3 (kitchen)"
    std::set<std::string> doubts;  // Sensors that it does not believe, by name.
    std::map<std::string, Instant> told_at;
    std::vector<std::string> news;
  };
  void NoteDoubts(Node& node, const wire::pb::Telemetry& telemetry, Instant now);

  const std::function<int()> local_minute_;
  std::map<NodeId, Node> nodes_;
};

}  // namespace shoal::coordinator
