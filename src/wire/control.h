// Control messages (proto/cluster.proto) as frames. Pure functions; thread-safe.
#pragma once

#include "base/network.h"
#include "base/status.h"
#include "base/work_rules.h"
#include "cluster.pb.h"

namespace shoal::wire {

Frame Encode(const pb::ToHead& message);
Frame Encode(const pb::ToNode& message);

// kCorruption: not such a message, or one without a body that we know.
Result<pb::ToHead> DecodeToHead(const Frame& frame);
Result<pb::ToNode> DecodeToNode(const Frame& frame);

// What a node's owner wishes. Hours that no day has are taken for always.
WorkRules ReadWishes(const pb::Wishes& wishes);

}  // namespace shoal::wire
