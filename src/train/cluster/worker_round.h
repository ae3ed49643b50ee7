// WorkerRound: where a worker stands in the round that is under way, and what follows from that.
// Computes nothing, and dials nobody.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "collective/communicator.h"
#include "train/cluster/group_message.h"
#include "train/cluster/learner.h"
#include "train/cluster/timeline.h"
#include "wire/control.h"

namespace shoal::train {

struct WorkerRound {
  std::uint64_t number = 0;
  wire::pb::TrainRound::Kind kind = wire::pb::TrainRound::STEP;
  std::uint64_t step = 0;
  std::vector<Sample> samples;
  std::int64_t samples_in_all = 0;  // Those of the whole group; of one epoch.
  std::set<std::int64_t> missing;   // Records that it waits for.
  // What its jobs have in common.
  struct Jobs {
    Status status;  // The compute thread's: none does anything after one that failed …
    std::atomic<bool> dropped = false;  // … or when nobody wants it any more.
  };
  std::shared_ptr<Jobs> jobs;  // Null: none was submitted.
  std::size_t parts_submitted = 0;
  std::size_t parts_done = 0;
  std::size_t losses = 0;  // How often a record was lost between being here and being read.

  // Of one epoch.
  std::uint64_t epoch = 0;
  std::optional<std::size_t> rank;  // None: others do this round.
  std::map<NodeId, std::string> addresses;
  collective::AllReduceOptions options;  // Of AVERAGE.
  std::vector<Reduction> plan;           // Of STEP.
  std::unique_ptr<collective::Communicator> group;
  Instant heard;                    // When the group last went on, as far as this node sees.
  std::size_t reductions = 0;       // Begun in this epoch …
  std::size_t reductions_done = 0;  // … and done.
  bool told_done = false;

  std::vector<float> statistics;  // Of AVERAGE: this node's, …
  std::vector<float> averages;    // … and everybody's.

  Instant told;  // When the head's message came.
  WorkerStep times;

  // When the next of `parts` parts was done; of many, several make one interval.
  void NotePart(std::size_t parts, Instant now);
  double SinceTold(Instant now) const { return ToSeconds(now - told); }

  // Whom the group's messages go to and come from. REQUIRES: this node is in the group.
  std::set<NodeId> GroupPeers() const;
  // All that this node has to do is done; the step has so many parts.
  bool IsWhole(std::size_t parts) const;
  // The others have not gone on for far too long. REQUIRES: this node has nothing to compute.
  bool StandsStill(Instant now) const;
};

// Whether a round that the head calls can follow on what this node holds: the weights that the head
// thinks it has, or none if it gets them. `round`: the last; `in_step`: its weights are
// everybody's.
bool CanFollow(const wire::pb::TrainRound& message, const std::optional<WorkerRound>& round,
               bool in_step, NodeId self);

// Takes over what the message says about the group; makes its communicator if this node is in it.
// kInvalidArgument: the message makes no sense for this learner.
Status ReadGroup(const wire::pb::TrainRound& message, const Learner& learner, Clock& clock,
                 Network& network, WorkerRound& round);

// What the head is told of a round that is whole.
void WriteDone(const WorkerRound& round, Learner& learner, wire::pb::TrainDone& out);

}  // namespace shoal::train
