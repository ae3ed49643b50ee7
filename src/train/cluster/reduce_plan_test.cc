// Goal: what is measured of the links decides, unless somebody has asked for something else.
#include "train/cluster/reduce_plan.h"

#include <gtest/gtest.h>

#include <numeric>

namespace shoal::train {
namespace {

using collective::Algorithm;
using collective::LinkModel;

constexpr LinkModel kFast{.alpha_seconds = 200e-6, .bytes_per_second = 110e6};
constexpr LinkModel kSlow{.alpha_seconds = 2e-3, .bytes_per_second = 5e6};
constexpr ReduceWish kAuto{.measure_links = true, .join_buckets = true};
const std::vector<std::uint64_t> kTenMegabytes(10, std::uint64_t{1} << 18U);

std::vector<NodeId> Nodes(std::size_t count) {
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < count; ++i) nodes.push_back(NodeId{i + 2});
  return nodes;
}

// Slow where `slow` says so.
template <class Slow>
LinkTable Table(const std::vector<NodeId>& nodes, Slow slow) {
  LinkTable table;
  for (std::size_t a = 0; a < nodes.size(); ++a) {
    for (std::size_t b = a + 1; b < nodes.size(); ++b) {
      table.Set(nodes[a], nodes[b], slow(a, b) ? kSlow : kFast);
    }
  }
  return table;
}

std::size_t Covered(const ReducePlan& plan) {
  std::size_t count = 0;
  for (const ReduceWay& way : plan.ways) count += way.buckets;
  return count;
}

std::string Name(NodeId node) { return "n" + std::to_string(ToNumber(node)); }

TEST(ReducePlanTest, WithoutMeasurementsItIsARingInOrderOfNumbers) {
  const ReducePlan plan = PlanReduction({}, Nodes(4), kTenMegabytes, kAuto);
  EXPECT_EQ(plan.members, Nodes(4));
  EXPECT_TRUE(plan.switches.empty());
  EXPECT_EQ(Covered(plan), 10U);
  EXPECT_EQ(plan.ways.size(), 3U);  // Of 4 MiB.
  for (const ReduceWay& way : plan.ways) EXPECT_EQ(way.algorithm, Algorithm::kRing);
}

TEST(ReducePlanTest, EqualLinksKeepTheOrderOfNumbers) {
  const auto nodes = Nodes(6);
  const LinkTable table = Table(nodes, [](auto, auto) { return false; });
  const ReducePlan plan = PlanReduction(table, nodes, kTenMegabytes, kAuto);
  EXPECT_EQ(plan.members, nodes);
  EXPECT_EQ(Covered(plan), 10U);
}

TEST(ReducePlanTest, SlowPairsAreNotNeighbours) {
  const auto nodes = Nodes(5);
  const LinkTable table = Table(nodes, [](auto a, auto b) { return a == 1 && b == 2; });
  const ReducePlan plan = PlanReduction(table, nodes, kTenMegabytes, kAuto);
  ASSERT_EQ(plan.members.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    const LinkModel* link = table.Find(plan.members[i], plan.members[(i + 1) % 5]);
    ASSERT_NE(link, nullptr);
    EXPECT_EQ(link->bytes_per_second, kFast.bytes_per_second);
  }
}

TEST(ReducePlanTest, UnknownPairsAreNotNeighboursEither) {
  const auto nodes = Nodes(5);
  LinkTable table = Table(nodes, [](auto a, auto b) { return a == 0 && b == 3; });
  table.Set(nodes[1], nodes[2], std::nullopt);
  const ReducePlan plan = PlanReduction(table, nodes, kTenMegabytes, kAuto);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NE(table.Find(plan.members[i], plan.members[(i + 1) % 5]), nullptr);
  }
}

TEST(ReducePlanTest, SwitchesBecomeGroups) {
  const auto nodes = Nodes(8);
  // Even and odd ones are behind two switches.
  const LinkTable table = Table(nodes, [](auto a, auto b) { return a % 2 != b % 2; });
  const ReducePlan plan = PlanReduction(table, nodes, kTenMegabytes, kAuto);
  ASSERT_EQ(plan.switches.size(), 2U);
  for (const auto& ranks : plan.switches) {
    ASSERT_EQ(ranks.size(), 4U);
    for (const std::uint32_t rank : ranks) {
      EXPECT_EQ(ToNumber(plan.members[rank]) % 2, ToNumber(plan.members[ranks[0]]) % 2);
    }
  }
  for (const ReduceWay& way : plan.ways) EXPECT_EQ(way.algorithm, Algorithm::kHierarchical);
}

TEST(ReducePlanTest, LatencyWantsLargerBucketsAndFewerSteps) {
  const auto nodes = Nodes(16);
  LinkTable far;
  for (std::size_t a = 0; a < nodes.size(); ++a) {
    for (std::size_t b = a + 1; b < nodes.size(); ++b) {
      far.Set(nodes[a], nodes[b], LinkModel{.alpha_seconds = 0.02, .bytes_per_second = 110e6});
    }
  }
  const LinkTable near = Table(nodes, [](auto, auto) { return false; });
  const std::vector<std::uint64_t> buckets(64, std::uint64_t{1} << 18U);
  EXPECT_LT(PlanReduction(far, nodes, buckets, kAuto).ways.size(),
            PlanReduction(near, nodes, buckets, kAuto).ways.size());
  const std::vector<std::uint64_t> tiny = {100};
  EXPECT_EQ(PlanReduction(far, nodes, tiny, kAuto).ways.front().algorithm,
            Algorithm::kHalvingDoubling);
}

TEST(ReducePlanTest, WhatIsAskedForWins) {
  const auto nodes = Nodes(4);
  const LinkTable table = Table(nodes, [](auto, auto) { return false; });
  ReduceWish wish = kAuto;
  wish.algorithm = Algorithm::kRing;
  wish.pieces.elements = 0;
  wish.join_buckets = false;
  const ReducePlan plan = PlanReduction(table, nodes, kTenMegabytes, wish);
  EXPECT_EQ(plan.ways.size(), 10U);
  for (const ReduceWay& way : plan.ways) {
    EXPECT_EQ(way.algorithm, Algorithm::kRing);
    EXPECT_EQ(way.pieces.elements, 0U);
  }
}

TEST(ReducePlanTest, HierarchicalMakesGroupsWhereThereAreNoSwitches) {
  ReduceWish wish = kAuto;
  wish.algorithm = Algorithm::kHierarchical;
  EXPECT_EQ(PlanReduction({}, Nodes(9), kTenMegabytes, wish).switches.size(), 3U);
  EXPECT_TRUE(PlanReduction({}, Nodes(3), kTenMegabytes, wish).switches.empty());
}

TEST(ReducePlanTest, OneNodeAndNoBucketsAreFine) {
  EXPECT_EQ(PlanReduction({}, Nodes(1), kTenMegabytes, kAuto).members, Nodes(1));
  EXPECT_TRUE(PlanReduction({}, Nodes(2), {}, kAuto).ways.empty());
}

TEST(ReducePlanTest, LinesSayWhatWasFoundAndDecided) {
  const auto nodes = Nodes(3);
  const LinkTable table = Table(nodes, [](auto a, auto b) { return a == 0 && b == 2; });
  EXPECT_EQ(DescribeLinks(table, nodes, Name),
            "links of 3 pairs: 0.2 ms and 880 Mb/s in the middle, slowest 2 ms and 40 Mb/s between "
            "n2 and n4");
  EXPECT_EQ(DescribeLinks({}, nodes, Name), "nothing is known of the links");
  ReducePlan plan{.members = nodes, .switches = {}, .ways = {}};
  plan.ways = {{.buckets = 5}, {.buckets = 4}, {1, Algorithm::kHalvingDoubling, {}}};
  EXPECT_EQ(DescribePlan(plan, kTenMegabytes, Name),
            "3 nodes in order of their numbers add up 10.5 MB in 3 buckets: 2 by ring, 1 by "
            "halving-doubling");
}

}  // namespace
}  // namespace shoal::train
