#include "coordinator/placement.h"

#include <algorithm>
#include <utility>

namespace shoal::coordinator {
namespace {

using pipeline::LayerRange;
using pipeline::PlanCosts;
using pipeline::PlanNode;
using pipeline::RouteStage;

const PlanNode* FindNode(const PlanCosts& costs, NodeId id) {
  const std::vector<PlanNode>& nodes = costs.cluster().nodes;
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const PlanNode& n) { return n.id == id; });
  return found == nodes.end() ? nullptr : &*found;
}

bool Fits(const PlanCosts& costs, NodeId id, const LayerRange& range) {
  const PlanNode* node = FindNode(costs, id);
  return node != nullptr && costs.Bytes(range) <= node->memory_bytes &&
         costs.Trusted(static_cast<std::size_t>(node - costs.cluster().nodes.data()), range);
}

double Speed(const PlanNode& node) { return node.speeds.weight_bytes_per_second; }

// Gives [lost.first, lost.end) to a spare or to neighbours. False: nobody has room.
bool Fill(const PlanCosts& costs, const LayerRange& lost, std::vector<RouteStage>& stages) {
  const auto at = std::find_if(stages.begin(), stages.end(),
                               [&](const RouteStage& s) { return s.range.first >= lost.end; });
  const PlanNode* best = nullptr;
  for (const PlanNode& node : costs.cluster().nodes) {
    const bool used = std::any_of(stages.begin(), stages.end(),
                                  [&](const RouteStage& s) { return s.node == node.id; });
    if (used || node.avoid || !Fits(costs, node.id, lost)) continue;
    if (best == nullptr || Speed(node) > Speed(*best)) best = &node;
  }
  if (best != nullptr) {
    stages.insert(at, {best->id, lost});
    return true;
  }
  RouteStage* const before = at == stages.begin() ? nullptr : &*(at - 1);
  RouteStage* const after = at == stages.end() ? nullptr : &*at;
  // Both get some, the faster one more; if only one has room, all.
  std::int64_t to_before = 0;
  if (before != nullptr && after != nullptr) {
    const PlanNode* a = FindNode(costs, before->node);
    const PlanNode* b = FindNode(costs, after->node);
    if (a != nullptr && b != nullptr) {
      const double all =
          static_cast<double>(lost.size() + before->range.size() + after->range.size());
      const double wish =
          all * Speed(*a) / (Speed(*a) + Speed(*b)) - static_cast<double>(before->range.size());
      to_before = std::clamp<std::int64_t>(static_cast<std::int64_t>(wish + 0.5), 0, lost.size());
    }
  } else if (before != nullptr) {
    to_before = lost.size();
  }
  const auto fits = [&](std::int64_t give) {
    const bool left =
        give == 0 ||
        (before != nullptr && Fits(costs, before->node, {before->range.first, lost.first + give}));
    const bool right =
        give == lost.size() ||
        (after != nullptr && Fits(costs, after->node, {lost.first + give, after->range.end}));
    return left && right;
  };
  for (std::int64_t off = 0; off <= lost.size(); ++off) {
    for (const std::int64_t give : {to_before - off, to_before + off}) {
      if (give < 0 || give > lost.size() || !fits(give)) continue;
      if (give > 0) before->range.end = lost.first + give;
      if (give < lost.size()) after->range.first = lost.first + give;
      return true;
    }
  }
  return false;
}

}  // namespace

Result<std::vector<RouteStage>> Repair(const pipeline::PlanModel& model,
                                       const pipeline::PlanCluster& cluster,
                                       const pipeline::PlanWish& wish,
                                       const std::vector<RouteStage>& old) {
  const PlanCosts costs(model, cluster);
  std::vector<RouteStage> stages;
  std::vector<LayerRange> lost;
  for (const RouteStage& stage : old) {
    const PlanNode* node = FindNode(costs, stage.node);
    if (node != nullptr && !node->avoid) {
      stages.push_back(stage);
    } else if (!lost.empty() && lost.back().end == stage.range.first) {
      lost.back().end = stage.range.end;
    } else {
      lost.push_back(stage.range);
    }
  }
  const bool repaired =
      !stages.empty() && std::all_of(lost.begin(), lost.end(), [&](const LayerRange& range) {
        return Fill(costs, range, stages);
      });
  if (repaired) return stages;
  SHOAL_ASSIGN_OR_RETURN(pipeline::ClusterPlan plan, PlanPipelines(model, cluster, wish));
  return std::move(plan.replicas.front().stages);
}

}  // namespace shoal::coordinator
