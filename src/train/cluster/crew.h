// Crew: the nodes that the head of a training knows, what they said of themselves, how fast they
// are, and how much of a batch each gets.
//
// Belongs to one event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/node_id.h"
#include "base/status.h"
#include "base/time.h"
#include "train/cluster/shares.h"
#include "wire/control.h"

namespace shoal::train {

struct Mate {
  enum class State {
    kComing,  // Fetches the job, builds.
    kReady,   // Could work, but has not the others' weights.
    kInStep,
    kUnfit,  // It said why.
  };
  std::string name;
  std::string address;
  State state = State::kComing;
  std::string problem;
  std::int64_t samples_max = 0;
  SpeedEstimate speed;
  double factor = 1;  // WorkFactor of what it told of its battery.
  std::optional<double> watts = {};
  bool watts_estimated = false;
};

// What is remembered of a node while it is gone.
struct Conduct {
  Instant banned_until{};
  unsigned bans = 0;
  std::set<NodeId> quarrels = {};  // Whom it accused, and who accused it.
};

class Crew {
 public:
  // Says hello, or says it again.
  Mate& Add(NodeId node, const wire::pb::NodeHello& hello);
  void Remove(NodeId node) { mates_.erase(node); }
  Mate* Find(NodeId node);
  std::string NameOf(NodeId node) const;
  Conduct& ConductOf(NodeId node) { return conduct_[node]; }

  void OnTelemetry(NodeId node, const wire::pb::Telemetry& telemetry);

  // Of all that could work now, how much of `batch` each gets; 0: it rests. Remembers it.
  // kUnavailable: nobody could.
  Result<std::map<NodeId, std::int64_t>> Deal(std::int64_t batch, Instant now);

  std::vector<NodeId> In(Mate::State state) const;
  const std::map<NodeId, Mate>& mates() const { return mates_; }
  std::map<NodeId, Mate>& mates() { return mates_; }

 private:
  std::map<NodeId, Mate> mates_;
  std::map<NodeId, Conduct> conduct_;
  std::vector<Share> shares_;  // As they were dealt last.
};

}  // namespace shoal::train
