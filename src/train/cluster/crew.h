// Crew: the nodes that the head of a training knows, what they said of themselves, how fast they
// are, how much of a batch each gets, and who has to stay away for a while.
//
// Belongs to one event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/node_id.h"
#include "base/status.h"
#include "base/time.h"
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
  double factor = 1;  // WorkFactor of what it told of its battery.
  std::optional<double> watts = {};
  bool watts_estimated = false;
};

class Crew {
 public:
  // `shape`: of everybody's learner.
  explicit Crew(LearnerShape shape) : shape_(std::move(shape)) {}

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

  void OnTelemetry(NodeId node, const wire::pb::Telemetry& telemetry);

  // Of all that could work now, how much of `batch` each gets; 0: it rests. Remembers it.
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
  };

  const LearnerShape shape_;
  std::map<NodeId, Mate> mates_;
  std::map<NodeId, Conduct> conduct_;
  std::vector<Share> shares_;  // As they were dealt last.
};

}  // namespace shoal::train
