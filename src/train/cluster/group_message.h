// What a TrainGroup (proto/train.proto) means: who reduces together and how. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/node_id.h"
#include "base/status.h"
#include "collective/communicator.h"
#include "train/cluster/learner.h"
#include "wire/control.h"

namespace shoal::train {

// So many buckets of a learner that follow each other are added up as one.
struct ReduceWay {
  std::size_t buckets = 1;
  collective::Algorithm algorithm = collective::Algorithm::kRing;
  collective::Pieces pieces = {};
};

struct GroupMessage {
  collective::Group group;
  std::optional<std::size_t> rank;  // Of this node; none: it is not in the group.
  std::map<NodeId, std::string> addresses;
  collective::AllReduceOptions options;
  std::vector<ReduceWay> ways;  // Empty: each bucket on its own, with `options`.
};

// kInvalidArgument: the message makes no sense.
Result<GroupMessage> ReadGroupMessage(const wire::pb::TrainGroup& message, NodeId self);
void WriteWay(const ReduceWay& way, wire::pb::TrainGroup& out);

// Floats that are added up as one, once `parts` parts of a step have run.
struct Reduction {
  Bucket bucket;
  collective::AllReduceOptions options;
};
// kInvalidArgument: the ways are not of these buckets.
Result<std::vector<Reduction>> PlanReductions(std::span<const Bucket> buckets,
                                              const GroupMessage& group);

}  // namespace shoal::train
