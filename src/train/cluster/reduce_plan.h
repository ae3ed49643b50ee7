// How gradients are added up: in which order of ranks, in which pieces, by which algorithm; asked
// from the model of links (collective/link_model.h), with what was measured of them.
//
// Pure functions; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/node_id.h"
#include "collective/communicator.h"
#include "train/cluster/group_message.h"
#include "train/cluster/link_table.h"

namespace shoal::train {

// What the operator asks for.
struct ReduceWish {
  bool measure_links = false;  // Else ranks are in the order of their numbers.
  // None: as the links say, or a ring.
  std::optional<collective::Algorithm> algorithm = {};
  collective::Pieces pieces = {};  // Of the algorithm that is asked for.
  collective::WireType wire = collective::WireType::kF32;
  bool join_buckets = false;  // Several of the learner's as one, as large as the links want them.
};

struct ReducePlan {
  std::vector<NodeId> members;  // By rank.
  std::vector<std::vector<std::uint32_t>> switches;
  std::vector<ReduceWay> ways;  // Of all buckets.
};

// REQUIRES: members in order of their numbers. `buckets`: floats of each of the learner's.
ReducePlan PlanReduction(const LinkTable& links, std::span<const NodeId> members,
                         std::span<const std::uint64_t> buckets, const ReduceWish& wish);

using NameFn = std::function<std::string(NodeId)>;
// One line each.
std::string DescribeLinks(const LinkTable& links, std::span<const NodeId> nodes,
                          const NameFn& name);
std::string DescribePlan(const ReducePlan& plan, std::span<const std::uint64_t> buckets,
                         const NameFn& name);

}  // namespace shoal::train
