// Placement: which node holds which layers after something changed, moving as little as possible.
// Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/node_id.h"
#include "base/status.h"
#include "pipeline/replica.h"

namespace shoal::coordinator {

struct PlaceNode {
  NodeId id{};
  std::uint64_t memory_bytes = 0;
  double speed = 1;    // Weights per second, relative to the others.
  bool avoid = false;  // Only if it must be: it was too slow, or failed.
};

struct PlaceModel {
  std::vector<std::uint64_t> layer_bytes;  // Of each layer: weights, keys and values.
};

// Contiguous layers over at most `stages_max` of the nodes, in proportion to their speed and within
// their memory. kResourceExhausted: they do not fit; the message says how much is missing.
Result<std::vector<pipeline::RouteStage>> PlaceAll(const PlaceModel& model,
                                                   std::vector<PlaceNode> nodes,
                                                   std::size_t stages_max);

// `old` after some of its nodes are gone: the others keep their layers, and what is missing goes to
// a node that holds nothing, or else to neighbours. If that does not fit, PlaceAll.
Result<std::vector<pipeline::RouteStage>> Repair(const PlaceModel& model,
                                                 const std::vector<PlaceNode>& nodes,
                                                 const std::vector<pipeline::RouteStage>& old,
                                                 std::size_t stages_max);

}  // namespace shoal::coordinator
