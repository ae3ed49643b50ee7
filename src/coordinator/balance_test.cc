// Goal: layers leave a node that got slow and come back when it is not, little moves, and what is
// good enough stays.
#include "coordinator/balance.h"

#include <gtest/gtest.h>

#include <limits>

namespace shoal::coordinator {
namespace {

using pipeline::Objective;
using pipeline::RouteStage;

constexpr double kSpeed = 10e9;
constexpr double kPrice = 0.005;
constexpr double kNever = std::numeric_limits<double>::infinity();

// Layers of 100 MB, nodes that take 10 ms for each, and a millisecond to everywhere.
BalanceCase Make(std::size_t layers, std::size_t nodes, std::size_t in_use, Objective objective) {
  BalanceCase now;
  now.model.layers.assign(layers, {.weight_bytes = 100'000'000,
                                   .row_bytes = 100'000'000,
                                   .multiply_adds = 1e6,
                                   .kv_bytes_per_position = 0});
  now.model.dim = 1024;
  now.wish = {.objective = objective, .stages = in_use, .replicas_max = 1};
  for (std::size_t i = 0; i < nodes; ++i) {
    now.cluster.nodes.push_back({.id = NodeId{i + 2},
                                 .memory_bytes = 100'000'000 * layers,
                                 .speeds = {kSpeed, 1e12},
                                 .latency = 0.001});
  }
  const std::size_t share = layers / in_use;
  for (std::size_t i = 0; i < in_use; ++i) {
    now.route.push_back({NodeId{i + 2},
                         {static_cast<std::int64_t>(i * share),
                          static_cast<std::int64_t>(i + 1 < in_use ? (i + 1) * share : layers)}});
  }
  now.price = [](NodeId, bool) { return kPrice; };
  return now;
}

void Slow(BalanceCase& now, std::size_t node, double factor) {
  now.cluster.nodes[node].speeds = {kSpeed / factor, 1e12 / factor};
  now.slowness[NodeId{node + 2}] = factor;
}

std::vector<std::int64_t> Sizes(const std::vector<RouteStage>& stages) {
  std::vector<std::int64_t> sizes;
  for (const RouteStage& stage : stages) sizes.push_back(stage.range.size());
  return sizes;
}

using Ids = std::vector<NodeId>;
using Numbers = std::vector<std::int64_t>;

TEST(BalanceTest, WhatIsEvenStays) {
  for (const Objective objective :
       {Objective::kTimePerToken, Objective::kFirstToken, Objective::kThroughput}) {
    BalanceCase now = Make(24, 3, 3, objective);
    EXPECT_FALSE(Balance(now).has_value());
    Slow(now, 1, 1.1);
    EXPECT_FALSE(Balance(now).has_value());
  }
}

TEST(BalanceTest, ASlowNodeShedsLayers) {
  for (const Objective objective :
       {Objective::kTimePerToken, Objective::kFirstToken, Objective::kThroughput}) {
    BalanceCase now = Make(24, 3, 3, objective);
    Slow(now, 1, 3.1);
    now.slowness[NodeId{2}] = 1;
    now.slowness[NodeId{4}] = 1;
    const auto move = Balance(now);
    ASSERT_TRUE(move.has_value());
    ASSERT_EQ(move->stages.size(), 3U);
    EXPECT_LE(move->stages[1].range.size(), 4);
    EXPECT_GE(move->stages[1].range.size(), 1);
    EXPECT_TRUE(
        move->why.starts_with("node 3 takes 3.1 times as long as it promised: node 2 [0,8) -> [0,"))
        << move->why;
    // And then it stays so.
    now.route = move->stages;
    EXPECT_FALSE(Balance(now).has_value());
    // Until it is fast again.
    Slow(now, 1, 1);
    const auto back = Balance(now);
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(Sizes(back->stages), (Numbers{8, 8, 8}));
    EXPECT_TRUE(back->why.starts_with("node ")) << back->why;
  }
}

TEST(BalanceTest, FewNodesMove) {
  BalanceCase now = Make(48, 12, 12, Objective::kThroughput);
  Slow(now, 5, 2);
  const auto move = Balance(now);
  ASSERT_TRUE(move.has_value());
  EXPECT_LE(move->moved.size(), 5U) << move->why;
  for (const NodeId node : move->moved) {
    EXPECT_GE(ToNumber(node), 5U);
    EXPECT_LE(ToNumber(node), 9U);
  }
}

TEST(BalanceTest, ASpareTakesThePlaceOfASlowNode) {
  BalanceCase now = Make(24, 4, 3, Objective::kTimePerToken);
  Slow(now, 1, 10);
  const auto move = Balance(now);
  ASSERT_TRUE(move.has_value());
  EXPECT_EQ(move->moved, (Ids{NodeId{3}, NodeId{5}})) << move->why;
  EXPECT_EQ(Sizes(move->stages), (Numbers{8, 8, 8}));
  // A spare that is as slow is none.
  Slow(now, 3, 10);
  const auto other = Balance(now);
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(other->stages[1].node, NodeId{3});
}

TEST(BalanceTest, ThereMayBeAStageMoreOrLess) {
  BalanceCase now = Make(24, 4, 3, Objective::kThroughput);
  now.wish.stages = 0;
  // Computing, which stages share, and not reading weights, which each batch of fewer users does.
  now.wish.users = 1000;
  for (pipeline::LayerCost& layer : now.model.layers) layer.multiply_adds = 1e9;
  const auto more = Balance(now);
  ASSERT_TRUE(more.has_value());
  EXPECT_EQ(Sizes(more->stages), (Numbers{6, 6, 6, 6})) << more->why;
  now.cluster.nodes.pop_back();
  Slow(now, 1, 40);
  const auto less = Balance(now);
  ASSERT_TRUE(less.has_value());
  EXPECT_EQ(Sizes(less->stages), (Numbers{12, 12})) << less->why;
  EXPECT_NE(less->why.find("node 3 [8,16) -> nothing"), std::string::npos) << less->why;
}

TEST(BalanceTest, SparesThatFailedAreNotTried) {
  BalanceCase now = Make(24, 4, 3, Objective::kTimePerToken);
  now.cluster.nodes[3].avoid = true;
  Slow(now, 1, 10);
  const auto move = Balance(now);
  ASSERT_TRUE(move.has_value());
  for (const RouteStage& stage : move->stages) EXPECT_NE(stage.node, NodeId{5});
}

TEST(BalanceTest, WhoMayNotMoveDoesNot) {
  BalanceCase now = Make(24, 3, 3, Objective::kThroughput);
  Slow(now, 1, 3);
  now.price = [](NodeId node, bool) { return node != NodeId{2} ? kPrice : kNever; };
  const auto move = Balance(now);
  ASSERT_TRUE(move.has_value());
  EXPECT_EQ(move->moved, (Ids{NodeId{3}, NodeId{4}}));
  now.price = [](NodeId node, bool) { return node != NodeId{3} ? kPrice : kNever; };
  EXPECT_FALSE(Balance(now).has_value());
}

TEST(BalanceTest, LayersGoWhereThereIsMemory) {
  BalanceCase now = Make(24, 3, 3, Objective::kThroughput);
  now.cluster.nodes[0].memory_bytes = 8 * 100'000'000;
  now.cluster.nodes[2].memory_bytes = 10 * 100'000'000;
  Slow(now, 1, 4);
  const auto move = Balance(now);
  ASSERT_TRUE(move.has_value());
  EXPECT_EQ(Sizes(move->stages), (Numbers{8, 6, 10}));
}

TEST(BalanceTest, ARouteOfWhichANodeIsGoneIsNotItsBusiness) {
  BalanceCase now = Make(24, 3, 3, Objective::kTimePerToken);
  now.cluster.nodes.pop_back();
  EXPECT_FALSE(Balance(now).has_value());
  now.route.clear();
  EXPECT_FALSE(Balance(now).has_value());
}

// With speeds that stay, every move makes it better: it ends.
TEST(BalanceTest, ItComesToRest) {
  for (const Objective objective :
       {Objective::kTimePerToken, Objective::kFirstToken, Objective::kThroughput}) {
    for (std::size_t seed = 1; seed <= 20; ++seed) {
      BalanceCase now = Make(30, 9, 6, objective);
      for (std::size_t i = 0; i < 9; ++i) {
        Slow(now, i, 1 + static_cast<double>((seed * 7 + i * i * 5) % 11) * 0.4);
      }
      int moves = 0;
      while (const auto move = Balance(now)) {
        now.route = move->stages;
        ASSERT_LT(++moves, 6) << move->why;
      }
    }
  }
}

}  // namespace
}  // namespace shoal::coordinator
