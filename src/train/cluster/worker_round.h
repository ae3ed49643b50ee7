// WorkerRound: where a worker stands in the round that is under way.
#pragma once

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
  bool started = false;  // Its jobs are submitted, or what it does without them has begun.
  std::size_t parts_done = 0;

  // Of one epoch.
  std::uint64_t epoch = 0;
  std::optional<std::size_t> rank;  // None: others do this round.
  std::map<NodeId, std::string> addresses;
  collective::AllReduceOptions options;  // Of AVERAGE.
  std::vector<Reduction> plan;           // Of STEP.
  std::unique_ptr<collective::Communicator> group;
  std::set<NodeId> neighbours;      // Whom the group's messages go to and come from.
  Instant dialled;                  // When the first of them was dialled.
  Instant heard;                    // When the group last went on, as far as this node sees.
  std::size_t reductions = 0;       // Begun in this epoch …
  std::size_t reductions_done = 0;  // … and done.
  bool told_done = false;

  std::vector<float> statistics;  // Of AVERAGE: this node's, …
  std::vector<float> averages;    // … and everybody's.

  Instant told;  // When the head's message came.
  WorkerStep times;

  double SinceTold(Instant now) const { return ToSeconds(now - told); }
};

// Takes over what the message says about the group; makes its communicator if this node is in it.
// kInvalidArgument: the message makes no sense for this learner.
Status ReadGroup(const wire::pb::TrainRound& message, const Learner& learner, Clock& clock,
                 Network& network, WorkerRound& round);

}  // namespace shoal::train
