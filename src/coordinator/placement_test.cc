// Goal: after a loss the others keep what they hold, and what was lost goes where there is room.
#include "coordinator/placement.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace shoal::coordinator {
namespace {

using pipeline::PlanModel;
using pipeline::PlanNode;
using pipeline::RouteStage;
using Stages = std::vector<RouteStage>;

constexpr NodeId kA{2};
constexpr NodeId kB{3};
constexpr NodeId kC{4};
constexpr NodeId kD{5};
constexpr NodeId kE{6};
constexpr std::uint64_t kMegabyte = 1'000'000;

// Twelve layers of a megabyte each.
PlanModel Model() {
  PlanModel model;
  model.layers.resize(12);
  for (pipeline::LayerCost& layer : model.layers) layer.weight_bytes = kMegabyte;
  model.dim = 64;
  return model;
}

PlanNode Node(NodeId id, std::uint64_t layers, double speed = 1) {
  PlanNode node;
  node.id = id;
  node.memory_bytes = layers * kMegabyte;
  node.speeds = {.weight_bytes_per_second = speed * 1e9, .operations_per_second = speed * 1e10};
  return node;
}

const Stages kOld = {{kA, {0, 4}}, {kB, {4, 8}}, {kC, {8, 12}}};

double SamePrice(NodeId /*node*/, bool /*more*/) { return 0.005; }

Result<Stages> TryRepair(const std::vector<PlanNode>& nodes) {
  return Repair(Model(), {.nodes = nodes, .links = {}, .head = {}}, {}, kOld, SamePrice);
}

Stages Repaired(const std::vector<PlanNode>& nodes) {
  const auto stages = TryRepair(nodes);
  EXPECT_TRUE(stages.ok()) << stages.status().ToString();
  return stages.ok() ? *stages : Stages{};
}

TEST(RepairTest, WithNobodyLostNothingMoves) {
  EXPECT_EQ(Repaired({Node(kA, 12), Node(kB, 12, 100), Node(kC, 12), Node(kD, 12)}), kOld);
}

TEST(RepairTest, ASpareTakesWhatWasLost) {
  EXPECT_EQ(Repaired({Node(kA, 12), Node(kC, 12), Node(kD, 4)}),
            (Stages{{kA, {0, 4}}, {kD, {4, 8}}, {kC, {8, 12}}}));
  EXPECT_EQ(Repaired({Node(kB, 12), Node(kC, 12), Node(kD, 4)}),
            (Stages{{kD, {0, 4}}, {kB, {4, 8}}, {kC, {8, 12}}}));
  EXPECT_EQ(Repaired({Node(kA, 12), Node(kB, 12), Node(kD, 4)}),
            (Stages{{kA, {0, 4}}, {kB, {4, 8}}, {kD, {8, 12}}}));
}

TEST(RepairTest, OfTheSparesTheFastestThatHasRoomIsTaken) {
  EXPECT_EQ(
      Repaired({Node(kA, 4), Node(kC, 4), Node(kD, 4, 0.5), Node(kE, 4, 2), Node(NodeId{7}, 0, 9)}),
      (Stages{{kA, {0, 4}}, {kE, {4, 8}}, {kC, {8, 12}}}));
}

TEST(RepairTest, ASlowSpareIsNotGivenWhatNeighboursDoBetter) {
  EXPECT_EQ(Repaired({Node(kA, 12), Node(kC, 12), Node(kD, 12, 0.1)}),
            (Stages{{kA, {0, 6}}, {kC, {6, 12}}}));
  // Nobody else has room.
  EXPECT_EQ(Repaired({Node(kA, 4), Node(kC, 4), Node(kD, 12, 0.1)}),
            (Stages{{kA, {0, 4}}, {kD, {4, 8}}, {kC, {8, 12}}}));
}

TEST(RepairTest, ASpareTooSmallTakesAPart) {
  EXPECT_EQ(Repaired({Node(kA, 4), Node(kC, 6), Node(kD, 2)}),
            (Stages{{kA, {0, 4}}, {kD, {4, 6}}, {kC, {6, 12}}}));
}

TEST(RepairTest, TwoSparesTakeWhatIsTooMuchForOne) {
  EXPECT_EQ(Repaired({Node(kC, 4), Node(kD, 4), Node(kE, 4)}).size(), 3U);
}

TEST(RepairTest, WhoHasMovedALotIsSparedIfOthersWillDo) {
  const auto tired = [](NodeId node, bool) { return node == kA ? 0.5 : 0.005; };
  const auto stages = Repair(
      Model(), {.nodes = {Node(kA, 12), Node(kC, 12)}, .links = {}, .head = {}}, {}, kOld, tired);
  ASSERT_TRUE(stages.ok());
  EXPECT_EQ(*stages, (Stages{{kA, {0, 4}}, {kC, {4, 12}}}));
}

// The neighbour of a lost end takes its layers, unless somebody from elsewhere takes the place.
TEST(RepairTest, SomebodyChangesPlacesForOneWhoHasMovedTooOften) {
  const Stages old = {{kA, {0, 3}}, {kB, {3, 6}}, {kC, {6, 9}}, {kD, {9, 12}}};
  const pipeline::PlanCluster cluster = {
      .nodes = {Node(kA, 6), Node(kB, 6), Node(kC, 6)}, .links = {}, .head = {}};
  for (const NodeId tired : {kA, kB, kC}) {
    const auto stages = Repair(Model(), cluster, {}, old, [&](NodeId node, bool /*more*/) {
      return node == tired ? 10 : 0.005;
    });
    ASSERT_TRUE(stages.ok());
    const pipeline::LayerRange* const kept = RangeOf(*stages, tired);
    ASSERT_NE(kept, nullptr);
    EXPECT_EQ(*kept, *RangeOf(old, tired));
  }
}

TEST(RepairTest, OfAlikeSparesTheOneThatHasTheLayersIsTaken) {
  const pipeline::PlanCluster cluster = {
      .nodes = {Node(kA, 12), Node(kC, 12), Node(kD, 4), Node(kE, 4)}, .links = {}, .head = {}};
  for (const NodeId has_them : {kD, kE}) {
    const auto stages =
        Repair(Model(), cluster, {.stages = 3}, kOld, SamePrice,
               [&](NodeId node, std::int64_t) { return node == has_them ? 0 : 0.02; });
    ASSERT_TRUE(stages.ok());
    EXPECT_EQ(*stages, (Stages{{kA, {0, 4}}, {has_them, {4, 8}}, {kC, {8, 12}}}));
  }
}

TEST(RepairTest, ANumberOfStagesThatWasAskedForIsKept) {
  const pipeline::PlanWish wish = {.stages = 3};
  const auto stages = Repair(
      Model(), {.nodes = {Node(kA, 12), Node(kC, 12), Node(kD, 12, 0.1)}, .links = {}, .head = {}},
      wish, kOld, SamePrice);
  ASSERT_TRUE(stages.ok());
  EXPECT_EQ(stages->size(), 3U);
}

TEST(RepairTest, EachOfSeveralLossesGetsASpareOfItsOwn) {
  EXPECT_EQ(Repaired({Node(kB, 4), Node(kD, 12), Node(kE, 12)}),
            (Stages{{kD, {0, 4}}, {kB, {4, 8}}, {kE, {8, 12}}}));
}

TEST(RepairTest, NeighboursThatAreLostTogetherAreOneRange) {
  EXPECT_EQ(Repaired({Node(kC, 4), Node(kD, 8)}), (Stages{{kD, {0, 8}}, {kC, {8, 12}}}));
}

TEST(RepairTest, WithoutASpareNeighboursShareTheFasterOneMore) {
  EXPECT_EQ(Repaired({Node(kA, 12), Node(kC, 12)}), (Stages{{kA, {0, 6}}, {kC, {6, 12}}}));
  EXPECT_EQ(Repaired({Node(kA, 12, 2), Node(kC, 12)}), (Stages{{kA, {0, 8}}, {kC, {8, 12}}}));
  EXPECT_EQ(Repaired({Node(kA, 12), Node(kC, 12, 2)}), (Stages{{kA, {0, 4}}, {kC, {4, 12}}}));
}

TEST(RepairTest, NeighboursTakeNoMoreThanTheyHaveRoomFor) {
  EXPECT_EQ(Repaired({Node(kA, 5), Node(kC, 12)}), (Stages{{kA, {0, 5}}, {kC, {5, 12}}}));
  EXPECT_EQ(Repaired({Node(kA, 12), Node(kC, 4)}), (Stages{{kA, {0, 8}}, {kC, {8, 12}}}));
}

TEST(RepairTest, AnEndHasOneNeighbourThatPassesSomeOn) {
  EXPECT_EQ(Repaired({Node(kB, 8), Node(kC, 8)}), (Stages{{kB, {0, 6}}, {kC, {6, 12}}}));
  EXPECT_EQ(Repaired({Node(kB, 8), Node(kC, 4)}), (Stages{{kB, {0, 8}}, {kC, {8, 12}}}));
  EXPECT_EQ(Repaired({Node(kA, 4), Node(kB, 8)}), (Stages{{kA, {0, 4}}, {kB, {4, 12}}}));
}

TEST(RepairTest, OneToAvoidLosesItsLayersToASpareAndIsNoSpareItself) {
  std::vector<PlanNode> nodes = {Node(kA, 12), Node(kB, 12), Node(kC, 12), Node(kD, 4)};
  nodes[1].avoid = true;
  EXPECT_EQ(Repaired(nodes), (Stages{{kA, {0, 4}}, {kD, {4, 8}}, {kC, {8, 12}}}));
  nodes[3].avoid = true;
  EXPECT_EQ(Repaired(nodes), (Stages{{kA, {0, 6}}, {kC, {6, 12}}}));
}

TEST(RepairTest, IfItDoesNotFitSoTheMessageSaysHowMuchIsMissing) {
  const auto stages = TryRepair({Node(kA, 5), Node(kC, 4)});
  ASSERT_FALSE(stages.ok());
  EXPECT_EQ(stages.status().code(), Code::kResourceExhausted);
  EXPECT_NE(stages.status().message().find("3 MB"), std::string::npos)
      << stages.status().ToString();
  EXPECT_EQ(TryRepair({}).status().code(), Code::kResourceExhausted);
}

TEST(RepairTest, IfEverybodyIsLostOthersHoldAll) {
  EXPECT_EQ(Repaired({Node(kE, 12)}), (Stages{{kE, {0, 12}}}));
}

// Whatever is lost: all layers, in order, each once, within everybody's memory.
TEST(RepairTest, WhatIsPlacedIsWholeAndFits) {
  Random random(11);
  int placed = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<PlanNode> nodes;
    for (std::uint64_t id = 2; id < 9; ++id) {
      if (random.Below(3) == 0) continue;
      nodes.push_back(Node(NodeId{id}, random.Below(8), 1 + static_cast<double>(random.Below(4))));
      nodes.back().avoid = random.Below(5) == 0;
      // Those that hold layers have room for them.
      for (const RouteStage& stage : kOld) {
        if (stage.node == nodes.back().id) nodes.back().memory_bytes += 4 * kMegabyte;
      }
    }
    const auto stages = TryRepair(nodes);
    if (!stages.ok()) continue;
    ++placed;
    std::int64_t at = 0;
    for (const RouteStage& stage : *stages) {
      EXPECT_EQ(stage.range.first, at);
      EXPECT_GT(stage.range.size(), 0);
      at = stage.range.end;
      std::uint64_t memory = 0;
      for (const PlanNode& node : nodes) {
        if (node.id == stage.node) memory = node.memory_bytes;
      }
      EXPECT_LE(static_cast<std::uint64_t>(stage.range.size()) * kMegabyte, memory);
    }
    EXPECT_EQ(at, 12);
    if (HasFailure()) FAIL() << "in round " << round;
  }
  EXPECT_GT(placed, 500);
}

}  // namespace
}  // namespace shoal::coordinator
