// What tests of the planner share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "pipeline/plan_costs.h"
#include "pipeline/planner.h"

namespace shoal::pipeline {

struct PlanCase {
  PlanModel model;
  PlanCluster cluster;
  PlanWish wish;
};

// Every replica has every layer once, in order, within memory; every node does one thing.
inline void ExpectSound(const PlanCase& c, const ClusterPlan& plan) {
  const PlanCosts costs(c.model, c.cluster);
  std::set<NodeId> used(plan.spares.begin(), plan.spares.end());
  std::size_t count = plan.spares.size();
  for (const PlannedReplica& replica : plan.replicas) {
    std::int64_t done = 0;
    for (std::size_t i = 0; i < replica.stages.size(); ++i) {
      const RouteStage& stage = replica.stages[i];
      EXPECT_EQ(stage.range.first, done);
      EXPECT_GT(stage.range.end, done);
      done = stage.range.end;
      used.insert(stage.node);
      ++count;
      const auto node = std::find_if(c.cluster.nodes.begin(), c.cluster.nodes.end(),
                                     [&](const PlanNode& n) { return n.id == stage.node; });
      ASSERT_NE(node, c.cluster.nodes.end());
      EXPECT_EQ(replica.memory_bytes[i], costs.Bytes(stage.range));
      EXPECT_LE(replica.memory_bytes[i], node->memory_bytes);
    }
    EXPECT_EQ(done, static_cast<std::int64_t>(c.model.layers.size()));
  }
  EXPECT_EQ(used.size(), count);
  EXPECT_EQ(count, c.cluster.nodes.size());
}

}  // namespace shoal::pipeline
