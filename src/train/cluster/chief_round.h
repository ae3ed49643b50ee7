// ChiefRound: where the head stands in the round that is under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/node_id.h"
#include "base/time.h"
#include "train/cluster/learner.h"
#include "wire/control.h"

namespace shoal::train {

struct ChiefRound {
  std::uint64_t number = 0;
  wire::pb::TrainRound::Kind kind = wire::pb::TrainRound::STEP;
  std::set<NodeId> nodes = {};     // Who must say that it has it.
  std::vector<NodeId> group = {};  // Who works together, by rank; the head itself may be in it.
  std::map<NodeId, std::vector<Sample>> samples = {};  // Of a STEP.
  std::map<NodeId, std::vector<Sample>> next = {};     // And probably of the one after it.
  std::map<NodeId, wire::pb::TrainDone> done = {};
  bool head_done = true;  // The head's own part in a SYNC.
  Instant begin = {};     // Of the first try.
  std::size_t tries = 0;
  std::map<NodeId, std::size_t> accused = {};  // Of having been lost, by neighbours.
  std::set<NodeId> waiting = {};  // In this try: have done their part and hear nothing.

  std::size_t Samples() const {
    std::size_t count = 0;
    for (const auto& [node, part] : samples) count += part.size();
    return count;
  }
};

}  // namespace shoal::train
