// Control messages (proto/cluster.proto) as frames. Pure functions; thread-safe.
#pragma once

#include "base/network.h"
#include "base/status.h"
#include "cluster.pb.h"

namespace shoal::wire {

Frame Encode(const pb::ToHead& message);
Frame Encode(const pb::ToNode& message);

// kCorruption: not such a message, or one without a body that we know.
Result<pb::ToHead> DecodeToHead(const Frame& frame);
Result<pb::ToNode> DecodeToNode(const Frame& frame);

}  // namespace shoal::wire
