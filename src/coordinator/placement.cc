#include "coordinator/placement.h"

#include <algorithm>
#include <utility>

namespace shoal::coordinator {
namespace {

using pipeline::PlanCluster;
using pipeline::PlanNode;
using pipeline::PlanWish;
using pipeline::RouteStage;
using Stages = std::vector<RouteStage>;

// Of those that hold nothing, so many are considered for each place.
constexpr std::size_t kSparesTried = 3;
// Who must move has moved so much, as a share of what the route costs, that somebody else is looked
// for.
constexpr double kDear = 0.5;

bool IsWilling(const PlanCluster& cluster, NodeId id) {
  return std::any_of(cluster.nodes.begin(), cluster.nodes.end(),
                     [&](const PlanNode& node) { return node.id == id && !node.avoid; });
}

// The fastest first.
std::vector<NodeId> Spares(const PlanCluster& cluster, const Stages& old) {
  std::vector<const PlanNode*> nodes;
  for (const PlanNode& node : cluster.nodes) {
    if (!node.avoid && RangeOf(old, node.id) == nullptr) nodes.push_back(&node);
  }
  std::stable_sort(nodes.begin(), nodes.end(), [](const PlanNode* a, const PlanNode* b) {
    return a->speeds.weight_bytes_per_second > b->speeds.weight_bytes_per_second;
  });
  std::vector<NodeId> spares;
  for (const PlanNode* node : nodes) spares.push_back(node->id);
  return spares;
}

// Who remains, in the old order, and some of the spares where somebody is gone: `each` in a place,
// or as many as there are. A spare that had a place leaves it.
std::vector<Seat> Seats(const PlanCluster& cluster, const Stages& old,
                        const std::vector<NodeId>& spares, std::size_t each,
                        bool spares_may_be_empty) {
  std::vector<std::vector<NodeId>> before(old.size());  // Spares before the next that remains.
  std::vector<std::size_t> gaps;
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (IsWilling(cluster, old[i].node)) continue;
    if (i == 0 || IsWilling(cluster, old[i - 1].node)) gaps.push_back(i);
  }
  for (std::size_t i = 0; i < std::min(spares.size(), each * gaps.size()); ++i) {
    before[gaps[i % gaps.size()]].push_back(spares[i]);
  }
  std::vector<Seat> seats;
  for (std::size_t i = 0; i < old.size(); ++i) {
    for (const NodeId spare : before[i]) seats.push_back({spare, spares_may_be_empty});
    const bool leaves = std::count(spares.begin(), spares.end(), old[i].node) > 0;
    if (!leaves && IsWilling(cluster, old[i].node)) seats.push_back({old[i].node, false});
  }
  return seats;
}

}  // namespace

Result<Stages> Repair(const pipeline::PlanModel& model, const PlanCluster& cluster,
                      const PlanWish& wish, const Stages& old, const MovePrice& price,
                      const LayerPrice& layer_price) {
  const auto left = std::count_if(old.begin(), old.end(), [&](const RouteStage& stage) {
    return IsWilling(cluster, stage.node);
  });
  if (left > 0 && left == std::ssize(old)) return old;
  if (left > 0) {
    const MoveSearch search(model, cluster, wish, old, price, layer_price);
    std::vector<NodeId> spares = Spares(cluster, old);
    PricedRoute best;
    // If so many stages were asked for, spares make up for those who are gone.
    for (std::size_t i = 0; wish.stages > 0 && i < std::min(spares.size(), kSparesTried); ++i) {
      PricedRoute route = search.Best(Seats(cluster, old, spares, 1, false));
      if (route.priced < best.priced) best = std::move(route);
      std::rotate(spares.begin(), spares.begin() + 1, spares.end());
    }
    if (best.stages.empty()) best = search.Best(Seats(cluster, old, spares, kSparesTried, true));
    const bool dear = best.stages.empty() || best.priced > (1 + kDear) * best.cost;
    if (dear && wish.stages == 0) {
      for (const RouteStage& stage : old) {
        if (!IsWilling(cluster, stage.node)) continue;
        spares.insert(spares.begin(), stage.node);
        PricedRoute route = search.Best(Seats(cluster, old, spares, kSparesTried, true));
        if (route.priced < best.priced) best = std::move(route);
        spares.erase(spares.begin());
      }
    }
    if (!best.stages.empty()) return std::move(best.stages);
  }
  SHOAL_ASSIGN_OR_RETURN(pipeline::ClusterPlan plan, PlanPipelines(model, cluster, wish));
  return std::move(plan.replicas.front().stages);
}

}  // namespace shoal::coordinator
