// What the head tells nodes of a round (TrainRound in proto/train.proto). Pure functions.
#pragma once

#include "base/node_id.h"
#include "train/cluster/chief_round.h"
#include "wire/control.h"

namespace shoal::train {

// What all nodes are told alike, but for the job and the group.
void WriteRound(const ChiefRound& round, wire::pb::TrainRound& out);
// What `node` is to do, in place of what the last one was.
void WritePart(const ChiefRound& round, NodeId node, wire::pb::TrainRound& out);

}  // namespace shoal::train
