#include "pipeline/planner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "pipeline/plan_case_for_test.h"

namespace shoal::pipeline {
namespace {

using Case = PlanCase;

// Four equal layers of 100 MB and nothing else that costs.
Case PlainCase(std::size_t nodes, std::uint64_t memory) {
  Case c;
  c.model.layers.assign(4, {.weight_bytes = 100'000'000,
                            .row_bytes = 0,
                            .multiply_adds = 200e6,
                            .kv_bytes_per_position = 1000});
  c.model.positions = 1000;
  c.model.dim = 1024;
  for (std::size_t i = 0; i < nodes; ++i) {
    PlanNode node;
    node.id = NodeId{i + 2};
    node.memory_bytes = memory;
    node.speeds = {.weight_bytes_per_second = 10e9, .operations_per_second = 100e9};
    node.latency = 0.002;
    c.cluster.nodes.push_back(node);
  }
  return c;
}

std::string Failure(const Case& c) {
  const Result<ClusterPlan> plan = PlanPipelines(c.model, c.cluster, c.wish);
  return plan.ok() ? "" : plan.status().ToString();
}

TEST(Planner, SaysWhatIsMissing) {
  EXPECT_EQ(Failure(PlainCase(0, 0)),
            "resource exhausted: the model takes 404 MB, and there is no node: 404 MB are missing");
  EXPECT_EQ(Failure(PlainCase(2, 0)),
            "resource exhausted: the model takes 404 MB, the nodes that are here have 0 MB for "
            "it: 404 MB are missing");
  EXPECT_EQ(Failure(PlainCase(3, 102'000'000)),
            "resource exhausted: the model takes 404 MB, the nodes that are here have 306 MB for "
            "it: 98 MB are missing");
  EXPECT_EQ(Failure(PlainCase(8, 100'000'000)),
            "resource exhausted: the model takes 404 MB, the nodes that are here have 800 MB for "
            "it, in pieces too small for its layers");
}

TEST(Planner, TheEndsAreForTrustedNodes) {
  for (const std::size_t stages : {0U, 2U, 4U}) {
    Case c = PlainCase(6, 160'000'000);
    c.model.trusted_ends = 1;
    c.wish.stages = stages;
    EXPECT_NE(Failure(c).find("are for trusted nodes"), std::string::npos);
    c.cluster.nodes[2].trusted = true;
    EXPECT_NE(Failure(c).find("are for trusted nodes"), std::string::npos) << "one is not enough";
    c.cluster.nodes[3].trusted = true;
    const Result<ClusterPlan> plan = PlanPipelines(c.model, c.cluster, c.wish);
    ASSERT_TRUE(plan.ok()) << plan.status().ToString();
    ExpectSound(c, *plan);
    const std::vector<RouteStage>& route = plan->replicas.front().stages;
    for (const NodeId node : {route.front().node, route.back().node}) {
      EXPECT_TRUE(node == c.cluster.nodes[2].id || node == c.cluster.nodes[3].id);
    }
  }
}

TEST(Planner, RefusesWhatMakesNoSense) {
  Case c = PlainCase(2, 1'000'000'000);
  c.cluster.nodes[1].id = c.cluster.nodes[0].id;
  EXPECT_EQ(Failure(c), "invalid argument: node 2 is there twice");
  c.model.layers.clear();
  EXPECT_EQ(Failure(c), "invalid argument: the model has no layers");
}

TEST(Planner, OneLayerAndWishesOfNothing) {
  Case c = PlainCase(3, 1'000'000'000);
  c.model.layers.resize(1);
  for (const Objective objective :
       {Objective::kTimePerToken, Objective::kFirstToken, Objective::kThroughput}) {
    c.wish = {.objective = objective, .prompt = 0, .chunk = 0, .users = 0};
    const Result<ClusterPlan> plan = PlanPipelines(c.model, c.cluster, c.wish);
    ASSERT_TRUE(plan.ok());
    ExpectSound(c, *plan);
    EXPECT_EQ(plan->replicas.front().stages.size(), 1U);
  }
}

TEST(Planner, NumbersThatAreNoneAreSlow) {
  Case c = PlainCase(3, 1'000'000'000);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  c.cluster.nodes[0].speeds = {.weight_bytes_per_second = nan, .operations_per_second = nan};
  c.cluster.nodes[0].latency = nan;
  c.cluster.nodes[0].link_bytes_per_second = nan;
  c.cluster.nodes[1].speeds = {.weight_bytes_per_second = 0, .operations_per_second = -1};
  c.cluster.nodes[1].latency = -1;
  c.cluster.links.push_back({NodeId{2}, NodeId{3}, nan});
  const Result<ClusterPlan> plan = PlanPipelines(c.model, c.cluster, c.wish);
  ASSERT_TRUE(plan.ok());
  ExpectSound(c, *plan);
  EXPECT_EQ(plan->replicas.front().stages, (std::vector<RouteStage>{{NodeId{4}, {0, 4}}}));
  for (const PlannedReplica& replica : plan->replicas) {
    EXPECT_TRUE(std::isfinite(replica.prediction.seconds_per_token));
  }
}

TEST(Planner, SizesThatCannotBeDoNotWrapRound) {
  Case c = PlainCase(2, std::numeric_limits<std::uint64_t>::max());
  c.model.layers[0].weight_bytes = std::numeric_limits<std::uint64_t>::max();
  c.model.positions = std::numeric_limits<std::uint64_t>::max();
  const Result<ClusterPlan> plan = PlanPipelines(c.model, c.cluster, c.wish);
  ASSERT_TRUE(plan.ok());
  ExpectSound(c, *plan);
}

// 40 ms of computing; every hop is 2 ms to or from the head, 4 ms between two.
TEST(Planner, PredictsByTheFormulas) {
  Case c = PlainCase(2, 250'000'000);
  const Result<ClusterPlan> plan = PlanPipelines(c.model, c.cluster, c.wish);
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->replicas.size(), 1U);
  const Prediction& prediction = plan->replicas.front().prediction;
  EXPECT_NEAR(prediction.stages_seconds, 0.040, 1e-9);
  EXPECT_NEAR(prediction.hops_seconds, 0.008, 1e-9);
  EXPECT_NEAR(prediction.seconds_per_token, 0.048, 1e-9);
  // 64 rows at once: 2 * 64 * 800e6 operations.
  EXPECT_NEAR(prediction.first_token_seconds, 1.024 + 0.008, 1e-9);
  EXPECT_NEAR(prediction.tokens_per_second_1, 1 / 0.048, 1e-6);
  // Three batches of 3 rows, 24 ms of operations in each stage: no stage is ever idle.
  EXPECT_NEAR(prediction.tokens_per_second_8, 8 / 0.072, 1e-6);

  // And of stages that are given.
  std::vector<RouteStage> stages = plan->replicas.front().stages;
  const std::optional<Prediction> given = Predict(c.model, c.cluster, c.wish, stages);
  ASSERT_TRUE(given);
  EXPECT_EQ(given->seconds_per_token, prediction.seconds_per_token);
  EXPECT_EQ(given->tokens_per_second_8, prediction.tokens_per_second_8);
  stages.back().node = NodeId{99};
  EXPECT_FALSE(Predict(c.model, c.cluster, c.wish, stages));
}

TEST(Planner, AddsStagesOnlyIfTheObjectiveGains) {
  Case c = PlainCase(4, 1'000'000'000);
  c.wish.replicas_max = 1;
  const auto stages = [&](Objective objective) {
    c.wish.objective = objective;
    return PlanPipelines(c.model, c.cluster, c.wish)->replicas.front().stages.size();
  };
  EXPECT_EQ(stages(Objective::kTimePerToken), 1U);
  EXPECT_EQ(stages(Objective::kFirstToken), 4U);
  EXPECT_GT(stages(Objective::kThroughput), 1U);
  c.wish.stages = 3;
  EXPECT_EQ(stages(Objective::kTimePerToken), 3U);
  c.wish.stages = 9;
  EXPECT_EQ(stages(Objective::kTimePerToken), 4U);
}

TEST(Planner, ReplicasWhenNodesOutnumberStages) {
  Case c = PlainCase(7, 210'000'000);
  for (const Objective objective : {Objective::kTimePerToken, Objective::kThroughput}) {
    c.wish.objective = objective;
    const Result<ClusterPlan> plan = PlanPipelines(c.model, c.cluster, c.wish);
    ASSERT_TRUE(plan.ok());
    ExpectSound(c, *plan);
    EXPECT_EQ(plan->replicas.size(), 3U);
    EXPECT_EQ(plan->spares.size(), 1U);
  }
}

// A tenth faster, as measuring twice would give: not worth that one node does all the work.
TEST(Planner, AlikeNodesGetAlikeStages) {
  Case c = PlainCase(2, 1'000'000'000);
  c.wish.stages = 2;
  c.cluster.nodes[0].speeds.weight_bytes_per_second *= 1.1;
  const auto largest = [&] {
    const Result<ClusterPlan> plan = PlanPipelines(c.model, c.cluster, c.wish);
    EXPECT_TRUE(plan.ok());
    std::int64_t layers = 0;
    for (const RouteStage& stage : plan->replicas.front().stages) {
      layers = std::max(layers, stage.range.size());
    }
    return static_cast<double>(layers) / static_cast<double>(c.model.layers.size());
  };
  EXPECT_LE(largest(), 0.6);
  c.wish.slack = 0;
  EXPECT_GE(largest(), 0.7);
}

TEST(Planner, ReplicasHaveTheNumberOfStagesThatWasAskedFor) {
  Case c = PlainCase(6, 1'000'000'000);  // One node would do.
  c.wish.stages = 3;
  for (const Objective objective : {Objective::kTimePerToken, Objective::kThroughput}) {
    c.wish.objective = objective;
    const Result<ClusterPlan> plan = PlanPipelines(c.model, c.cluster, c.wish);
    ASSERT_TRUE(plan.ok());
    ASSERT_EQ(plan->replicas.size(), 2U);
    for (const PlannedReplica& replica : plan->replicas) EXPECT_EQ(replica.stages.size(), 3U);
  }
}

TEST(Planner, AvoidsNodesUnlessItMustNot) {
  Case c = PlainCase(3, 210'000'000);
  c.cluster.nodes[0].avoid = true;
  Result<ClusterPlan> plan = PlanPipelines(c.model, c.cluster, c.wish);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->spares, (std::vector<NodeId>{NodeId{2}}));
  c.cluster.nodes[1].avoid = true;
  c.cluster.nodes[0].speeds.weight_bytes_per_second *= 2;
  plan = PlanPipelines(c.model, c.cluster, c.wish);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->spares, (std::vector<NodeId>{NodeId{3}}));
}

// A chain of short links in another order than that of the ids.
TEST(Planner, OrderFollowsTheLatencies) {
  Case c = PlainCase(4, 110'000'000);
  c.cluster.links = {{NodeId{4}, NodeId{2}, 0.0001},
                     {NodeId{2}, NodeId{5}, 0.0001},
                     {NodeId{5}, NodeId{3}, 0.0001}};
  const Result<ClusterPlan> plan = PlanPipelines(c.model, c.cluster, c.wish);
  ASSERT_TRUE(plan.ok());
  EXPECT_NEAR(plan->replicas.front().prediction.hops_seconds, 0.0043, 1e-9);
}

}  // namespace
}  // namespace shoal::pipeline
