// Planner: which nodes hold which layers so that an objective is met best, and what that will
// give. Layers are cut into contiguous ranges of any size, within every node's memory; the order
// follows the latencies; a stage is added only if the objective gains. What things cost:
// plan_costs.h. Pure, and the same for the same input.
//
// Exact where all layers and links are alike. Otherwise it searches: within 5 % of the best on
// small clusters (planner_test), a thousand nodes and 80 layers in less than a second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "pipeline/plan_costs.h"
#include "pipeline/replica.h"

namespace shoal::pipeline {

enum class Objective : std::uint8_t {
  kTimePerToken,  // Of one answer.
  kFirstToken,    // Of one answer to a long prompt.
  kThroughput,    // Tokens of all answers together.
};

struct PlanWish {
  Objective objective = Objective::kTimePerToken;
  std::size_t prompt = 512;      // Tokens of the prompt, for kFirstToken …
  std::size_t chunk = 64;        // … and of a batch of it.
  std::size_t users = 8;         // For kThroughput.
  std::size_t stages = 0;        // In each pipeline, if it can be; 0: as the objective has it.
  std::size_t replicas_max = 0;  // 0: as many as the nodes give.
  // For kTimePerToken: for one answer it hardly matters where alike nodes are cut, for prompts and
  // many answers it does. So much longer may a token take, as a share, if stages get more even.
  double slack = 0.15;
};

struct Prediction {
  double seconds_per_token = 0;    // One answer, of which …
  double stages_seconds = 0;       // … computing in the stages,
  double hops_seconds = 0;         // … on the way,
  double head_seconds = 0;         // … in the head.
  double first_token_seconds = 0;  // Of a prompt of 64 tokens.
  double tokens_per_second_1 = 0;  // With one user,
  double tokens_per_second_8 = 0;  // and with eight.
};

struct PlannedReplica {
  std::vector<RouteStage> stages;
  std::vector<std::uint64_t> memory_bytes;  // Of each stage: weights, keys and values.
  std::size_t users = 0;                    // Of PlanWish::users, those that it should have.
  Prediction prediction;
};

struct ClusterPlan {
  std::vector<PlannedReplica> replicas;  // The best first; at least one.
  std::vector<NodeId> spares;
  double tokens_per_second_1 = 0;  // Of all replicas together.
  double tokens_per_second_8 = 0;
  double tokens_per_second = 0;  // With PlanWish::users.
  std::uint64_t steps = 0;       // What finding it took.
};

// kResourceExhausted: the nodes have not enough memory; the message says how much is missing.
// kInvalidArgument: no layers, or two nodes with one id.
Result<ClusterPlan> PlanPipelines(const PlanModel& model, const PlanCluster& cluster,
                                  const PlanWish& wish);

// What a pipeline that is there takes, in seconds, by the same formulas: for a token, the first
// token, or between two tokens of all users. Nothing: a node of it is not in `cluster`.
std::optional<double> ObjectiveSeconds(const PlanModel& model, const PlanCluster& cluster,
                                       const PlanWish& wish, const std::vector<RouteStage>& stages);

// The same nodes in the same order, each with one layer at least, cut as the wish has it. Nothing:
// a node is not in `cluster`, or the layers do not fit.
std::optional<std::vector<RouteStage>> Recut(const PlanModel& model, const PlanCluster& cluster,
                                             const PlanWish& wish,
                                             const std::vector<RouteStage>& stages);

// What such a pipeline will give. Nothing: a node of it is not in `cluster`.
std::optional<Prediction> Predict(const PlanModel& model, const PlanCluster& cluster,
                                  const PlanWish& wish, const std::vector<RouteStage>& stages);

}  // namespace shoal::pipeline
