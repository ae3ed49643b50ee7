// Goal: gradients travel as the operator asks, and nothing else does.
#include "train/cluster/group_planner.h"

#include <gtest/gtest.h>

namespace shoal::train {
namespace {

TEST(GroupPlannerTest, OnlyGradientsTravelAs16Bits) {
  constexpr NodeId kA{2}, kB{3};
  Crew crew({.fingerprint = 1, .buckets = {1000}});
  for (const NodeId node : {kA, kB}) {
    crew.Add(node, {});
    wire::pb::TrainReady ready;
    ready.set_shape(1);
    ready.add_buckets(1000);
    ASSERT_TRUE(crew.OnReady(node, ready).ok());
  }
  const LinkTable links;
  GroupPlanner planner(links, crew, {.wire = collective::WireType::kF16},
                       [](const std::string&) {});
  const auto wire_of = [&](wire::pb::TrainRound::Kind kind) {
    ChiefRound round{.kind = kind};
    round.group = {kA, kB};
    wire::pb::TrainGroup group;
    planner.Write(1, round, group);
    return static_cast<collective::WireType>(group.wire());
  };
  EXPECT_EQ(wire_of(wire::pb::TrainRound::STEP), collective::WireType::kF16);
  EXPECT_EQ(wire_of(wire::pb::TrainRound::AVERAGE), collective::WireType::kF32);
  EXPECT_EQ(wire_of(wire::pb::TrainRound::SYNC), collective::WireType::kF32);
}

}  // namespace
}  // namespace shoal::train
