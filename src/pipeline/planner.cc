#include "pipeline/planner.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "pipeline/layer_cut.h"
#include "pipeline/replica_search.h"
#include "pipeline/route_search.h"

namespace shoal::pipeline {
namespace {

// Of the prompt whose first token is predicted.
constexpr std::size_t kPredictedPrompt = 64;

std::string Megabytes(std::uint64_t bytes) {
  return std::to_string(bytes / 1'000'000 + (bytes % 1'000'000 == 0 ? 0 : 1));
}

Status TooLittleMemory(const PlanCosts& costs) {
  const std::uint64_t needed = costs.AllBytes();
  if (costs.nodes() == 0) {
    return {Code::kResourceExhausted, "the model takes " + Megabytes(needed) +
                                          " MB, and there is no node: " + Megabytes(needed) +
                                          " MB are missing"};
  }
  std::uint64_t there = 0;
  for (const PlanNode& node : costs.cluster().nodes) {
    there += std::min(node.memory_bytes, needed);
  }
  const std::size_t ends = costs.model().trusted_ends;
  if (needed <= there && ends > 0) {
    return {Code::kResourceExhausted,
            "the first and the last " + std::to_string(ends) +
                " layers are for trusted nodes, and those that are here cannot carry them: "
                "`shoal nodes set NODE --trusted`"};
  }
  return {Code::kResourceExhausted,
          "the model takes " + Megabytes(needed) + " MB, the nodes that are here have " +
              Megabytes(there) + " MB for it" +
              (needed > there ? ": " + Megabytes(needed - there) + " MB are missing"
                              : ", in pieces too small for its layers")};
}

Status CheckInput(const PlanModel& model, const PlanCluster& cluster) {
  if (model.layers.empty()) return {Code::kInvalidArgument, "the model has no layers"};
  std::map<NodeId, int> seen;
  for (const PlanNode& node : cluster.nodes) {
    if (++seen[node.id] > 1) {
      return {Code::kInvalidArgument,
              "node " + std::to_string(ToNumber(node.id)) + " is there twice"};
    }
  }
  return {};
}

PlanWish Possible(PlanWish wish) {
  wish.prompt = std::max<std::size_t>(wish.prompt, 1);
  wish.chunk = std::max<std::size_t>(wish.chunk, 1);
  wish.users = std::max<std::size_t>(wish.users, 1);
  return wish;
}

Prediction PredictPlaced(const PlanCosts& costs, const PlanWish& wish,
                         const std::vector<PlacedStage>& stages) {
  Prediction prediction;
  prediction.seconds_per_token = costs.SecondsPerToken(stages);
  prediction.head_seconds = costs.Head(1);
  prediction.hops_seconds = costs.Hops(stages, 1);
  prediction.stages_seconds = costs.Round(stages, 1) - prediction.hops_seconds;
  prediction.first_token_seconds = costs.FirstToken(stages, kPredictedPrompt, wish.chunk);
  prediction.tokens_per_second_1 = costs.TokensPerSecond(stages, 1);
  prediction.tokens_per_second_8 = costs.TokensPerSecond(stages, 8);
  return prediction;
}

PlannedReplica Describe(const PlanCosts& costs, const PlanWish& wish,
                        const std::vector<PlacedStage>& stages) {
  PlannedReplica replica;
  for (const PlacedStage& stage : stages) {
    replica.stages.push_back({costs.cluster().nodes[stage.node].id, stage.range});
    replica.memory_bytes.push_back(costs.Bytes(stage.range));
  }
  replica.prediction = PredictPlaced(costs, wish, stages);
  return replica;
}

// The same nodes in the same order with the slowest stage as fast as the slack allows.
void MakeEven(const PlanCosts& costs, const PlanWish& wish, const RouteSearch& search,
              std::vector<PlacedStage>& stages) {
  constexpr int kBisections = 12;
  // The others count the slowest stage themselves.
  if (stages.size() < 2 || wish.objective != Objective::kTimePerToken) return;
  const double limit = (1 + wish.slack) * search.Score(stages, wish.users);
  std::vector<std::size_t> order;
  for (const PlacedStage& stage : stages) order.push_back(stage.node);
  double high = costs.Slowest(stages, 1);
  double low = high / static_cast<double>(stages.size() * costs.layers());
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    std::vector<PlacedStage> even =
        CutLayers(costs, order, {.rows = 1, .slowest = middle, .stages = order.size()}).stages;
    if (even.empty() || search.Score(even, wish.users) > limit) {
      low = middle;
    } else {
      high = middle;
      stages = std::move(even);
    }
  }
}

// Nothing: there are no stages, or a node of them is not in `cluster`.
std::optional<std::vector<PlacedStage>> Place(const PlanCluster& cluster,
                                              const std::vector<RouteStage>& stages) {
  if (stages.empty()) return std::nullopt;
  std::map<NodeId, std::size_t> places;
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) places[cluster.nodes[i].id] = i;
  std::vector<PlacedStage> placed;
  for (const RouteStage& stage : stages) {
    const auto place = places.find(stage.node);
    if (place == places.end()) return std::nullopt;
    placed.push_back({place->second, stage.range});
  }
  return placed;
}

}  // namespace

Result<ClusterPlan> PlanPipelines(const PlanModel& model, const PlanCluster& cluster,
                                  const PlanWish& asked) {
  SHOAL_RETURN_IF_ERROR(CheckInput(model, cluster));
  const PlanWish wish = Possible(asked);
  const PlanCosts costs(model, cluster);
  std::vector<std::size_t> all;
  std::vector<std::size_t> willing;
  for (std::size_t i = 0; i < costs.nodes(); ++i) {
    if (cluster.nodes[i].memory_bytes == 0) continue;
    all.push_back(i);
    if (!cluster.nodes[i].avoid) willing.push_back(i);
  }
  RouteSearch search(costs, wish);
  const std::size_t replicas_max = wish.replicas_max == 0 ? costs.nodes() : wish.replicas_max;
  Replicas replicas = FindReplicas(costs, wish, replicas_max, willing, search);
  if (replicas.empty() && all.size() > willing.size()) {
    replicas = FindReplicas(costs, wish, 1, all, search);
  }
  if (replicas.empty()) return TooLittleMemory(costs);
  for (std::vector<PlacedStage>& stages : replicas) MakeEven(costs, wish, search, stages);
  std::stable_sort(replicas.begin(), replicas.end(), [&](const auto& a, const auto& b) {
    return search.Score(a, wish.users) < search.Score(b, wish.users);
  });

  ClusterPlan plan;
  const std::vector<std::size_t> users = ShareUsers(costs, replicas, wish.users);
  std::vector<bool> used(costs.nodes(), false);
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    plan.replicas.push_back(Describe(costs, wish, replicas[i]));
    plan.replicas.back().users = users[i];
    for (const PlacedStage& stage : replicas[i]) used[stage.node] = true;
  }
  for (std::size_t i = 0; i < costs.nodes(); ++i) {
    if (!used[i]) plan.spares.push_back(cluster.nodes[i].id);
  }
  plan.tokens_per_second_1 = TokensPerSecond(costs, replicas, 1);
  plan.tokens_per_second_8 = TokensPerSecond(costs, replicas, 8);
  plan.tokens_per_second = TokensPerSecond(costs, replicas, wish.users);
  plan.steps = search.steps();
  return plan;
}

std::optional<double> ObjectiveSeconds(const PlanModel& model, const PlanCluster& cluster,
                                       const PlanWish& wish,
                                       const std::vector<RouteStage>& stages) {
  const std::optional<std::vector<PlacedStage>> placed = Place(cluster, stages);
  if (!placed) return std::nullopt;
  const PlanWish possible = Possible(wish);
  const PlanCosts costs(model, cluster);
  return RouteSearch(costs, possible).Score(*placed, possible.users);
}

std::optional<std::vector<RouteStage>> Recut(const PlanModel& model, const PlanCluster& cluster,
                                             const PlanWish& wish,
                                             const std::vector<RouteStage>& stages) {
  const std::optional<std::vector<PlacedStage>> placed = Place(cluster, stages);
  if (!placed || placed->size() > model.layers.size()) return std::nullopt;
  const PlanWish possible = Possible(wish);
  const PlanCosts costs(model, cluster);
  std::vector<std::size_t> order;
  for (const PlacedStage& stage : *placed) order.push_back(stage.node);
  RouteSearch search(costs, possible);
  FoundRoute found = search.BestInOrder(order, possible.users, order.size());
  if (found.stages.empty()) return std::nullopt;
  MakeEven(costs, possible, search, found.stages);
  std::vector<RouteStage> recut;
  for (const PlacedStage& stage : found.stages) {
    recut.push_back({cluster.nodes[stage.node].id, stage.range});
  }
  return recut;
}

std::optional<Prediction> Predict(const PlanModel& model, const PlanCluster& cluster,
                                  const PlanWish& wish, const std::vector<RouteStage>& stages) {
  const std::optional<std::vector<PlacedStage>> placed = Place(cluster, stages);
  if (!placed) return std::nullopt;
  return PredictPlaced(PlanCosts(model, cluster), Possible(wish), *placed);
}

}  // namespace shoal::pipeline
