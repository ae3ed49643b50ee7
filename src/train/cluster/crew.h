// Crew: the nodes that the head of a training knows, what they said of themselves, how fast they
// are, how much of a batch each gets, and who has to stay away for a while.
//
// Belongs to one event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/heat_guard.h"
#include "base/latch.h"
#include "base/node_id.h"
#include "base/status.h"
#include "base/time.h"
#include "base/work_rules.h"
#include "train/cluster/learner_shape.h"
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
  double factor = 1;      // WorkFactor of what it told of its battery.
  WorkRules wishes = {};  // Its owner's.
  std::optional<bool> charging = {};
  Latch off_charger{std::chrono::minutes(1)};  // Plugs wobble.
  Instant told_at = {};                        // Of its battery.
  std::optional<double> watts = {};
  bool watts_estimated = false;
};

class Crew {
 public:
  // `shape`: of everybody's learner. `local_minute`: of the day, where the head is; empty: hours do
  // not count.
  explicit Crew(LearnerShape shape, std::function<int()> local_minute = nullptr)
      : shape_(std::move(shape)), local_minute_(std::move(local_minute)) {}

  // Says hello, or says it again.
  Mate& Add(NodeId node, const wire::pb::NodeHello& hello);
  void Remove(NodeId node) { mates_.erase(node); }
  Mate* Find(NodeId node);
  const Mate* Find(NodeId node) const;
  std::string NameOf(NodeId node) const;

  // It has built its learner, and can work from now on. kInvalidArgument: not with the others,
  // because it has built something else. REQUIRES: it is in the crew.
  Status OnReady(NodeId node, const wire::pb::TrainReady& ready);
  // Floats of each bucket of everybody's learner.
  const std::vector<std::uint64_t>& buckets() const { return shape_.buckets; }

  void OnTelemetry(NodeId node, const wire::pb::Telemetry& telemetry, Instant now);

  // Of all that could work now, how much of `batch` each gets; 0: it rests, because of its battery,
  // its heat or its owner's wishes. Remembers it.
  // kUnavailable: nobody could.
  Result<std::map<NodeId, std::int64_t>> Deal(std::int64_t batch, Instant now);

  // The two have lost each other.
  void NoteQuarrel(NodeId a, NodeId b);
  // Of those who were accused so many times, whose fault it is: who is at odds with many, not those
  // who are with it. REQUIRES: at least one.
  NodeId MostToBlame(const std::map<NodeId, std::size_t>& accused) const;
  // It gets nothing for some time, longer each time: for how long.
  Duration Ban(NodeId node, Instant now);

  std::vector<NodeId> In(Mate::State state) const;
  const std::map<NodeId, Mate>& mates() const { return mates_; }
  std::map<NodeId, Mate>& mates() { return mates_; }

 private:
  // What is remembered of a node while it is gone.
  struct Conduct {
    Instant banned_until{};
    unsigned bans = 0;
    std::set<NodeId> quarrels = {};  // Whom it accused, and who accused it.
    HeatGuard heat = {};             // As the node itself judges.
  };

  double FactorOf(NodeId node, const Mate& mate, std::optional<int> minute) const;

  const LearnerShape shape_;
  const std::function<int()> local_minute_;
  std::map<NodeId, Mate> mates_;
  std::map<NodeId, Conduct> conduct_;
  std::vector<Share> shares_;  // As they were dealt last.
};

}  // namespace shoal::train
