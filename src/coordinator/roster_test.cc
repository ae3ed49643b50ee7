// Goal: only nodes that can be used are offered, and what is known of one ends when it should.
#include "coordinator/roster.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "kernels/revision.h"

namespace shoal::coordinator {
namespace {

constexpr NodeId kA{2};
constexpr NodeId kB{3};
constexpr NodeId kC{4};
constexpr Instant kNow{std::chrono::seconds(100)};

void Greet(Roster& roster, NodeId node, std::uint64_t memory, double speed) {
  roster.Arrived(node, kNow);
  Member* member = roster.Find(node);
  ASSERT_NE(member, nullptr);
  member->greeted = true;
  member->hello.set_arithmetic(kernels::kKernelRevision);
  member->hello.set_memory_bytes(memory);
  member->hello.mutable_profile()->set_weight_bytes_per_second(speed);
  member->hello.mutable_profile()->set_operations_per_second(10 * speed);
}

std::vector<NodeId> Ids(const pipeline::PlanCluster& cluster) {
  std::vector<NodeId> ids;
  for (const pipeline::PlanNode& node : cluster.nodes) ids.push_back(node.id);
  return ids;
}

TEST(RosterTest, ACandidateIsWhatItSaysItIs) {
  Roster roster;
  Greet(roster, kA, 1000, 5.5);
  const std::vector<pipeline::PlanNode> nodes = roster.Candidates(kNow).nodes;
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].id, kA);
  EXPECT_EQ(nodes[0].memory_bytes, 1000U);
  EXPECT_EQ(nodes[0].speeds.weight_bytes_per_second, 5.5);
  EXPECT_EQ(nodes[0].speeds.operations_per_second, 55);
  EXPECT_FALSE(nodes[0].avoid);
  EXPECT_EQ(roster.Find(kA)->heard, kNow);
}

// A node says it itself.
TEST(RosterTest, ASpeedThatNothingHasCountsAsNone) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double speed : {0.0, -3.0, 1e300, kInfinity, -kInfinity, std::nan("")}) {
    Roster roster;
    Greet(roster, kA, 1000, speed);
    const pipeline::PlanSpeeds speeds = roster.Candidates(kNow).nodes.at(0).speeds;
    EXPECT_EQ(speeds.weight_bytes_per_second, 1.0) << speed;
    EXPECT_EQ(speeds.operations_per_second, 1.0) << speed;
  }
}

// As seconds of work would say it.
void Work(Roster& roster, NodeId node, double slowness) {
  for (const int second : {0, 1, 2}) {
    roster.Measured(node, slowness, kNow + std::chrono::seconds(second));
  }
}

TEST(RosterTest, ACandidateIsAsFastAsItTurnsOutToBe) {
  constexpr Instant kLater = kNow + std::chrono::seconds(3);
  Roster roster;
  for (const NodeId node : {kA, kB, kC}) Greet(roster, node, 1000, 60);
  const std::uint64_t before = roster.beliefs();
  Work(roster, kA, 2);
  EXPECT_NE(roster.beliefs(), before);
  const auto speed = [&](std::size_t node) {
    return roster.Candidates(kLater).nodes.at(node).speeds.weight_bytes_per_second;
  };
  EXPECT_EQ(speed(0), 30);
  EXPECT_EQ(speed(1), 30) << "who has not worked is off by as much as the others";
  Work(roster, kB, 6);
  EXPECT_EQ(speed(0), 30);
  EXPECT_EQ(speed(1), 10);
  EXPECT_EQ(speed(2), 30) << "by as much as the usual one";
  EXPECT_EQ(roster.Candidates(kLater).nodes.at(1).speeds.operations_per_second, 100);
  roster.Left(kB);
  Greet(roster, kB, 1000, 60);
  EXPECT_EQ(speed(1), 10) << "it is no faster for having come anew";
  EXPECT_EQ(roster.Slowness(kB, kLater), 6);
  EXPECT_FALSE(roster.Slowness(kC, kLater).has_value());
}

TEST(RosterTest, RoundTripsBecomeLatenciesOfOneWay) {
  Roster roster;
  Greet(roster, kA, 1000, 1);
  Greet(roster, kB, 1000, 1);
  const auto measured = [&](NodeId from, NodeId to, double milliseconds) {
    wire::pb::RoundTrip& trip = *roster.Find(from)->telemetry.add_round_trips();
    trip.set_node(ToNumber(to));
    trip.set_milliseconds(milliseconds);
  };
  measured(kA, kHeadNode, 8);
  measured(kA, kB, 4);
  for (const double wrong : {-1.0, 1e300, std::nan("")}) {
    measured(kB, kHeadNode, wrong);
    measured(kB, kA, wrong);
  }
  pipeline::PlanCluster cluster = roster.Candidates(kNow);
  EXPECT_EQ(cluster.nodes.at(0).latency, 0.004);
  EXPECT_EQ(cluster.nodes.at(1).latency, 0.0005) << "not known yet";
  ASSERT_EQ(cluster.links.size(), 1U);
  EXPECT_EQ(cluster.links[0].a, kA);
  EXPECT_EQ(cluster.links[0].b, kB);
  EXPECT_EQ(cluster.links[0].latency, 0.002);
  roster.SetUnreachable(kB, kA);
  EXPECT_TRUE(roster.Candidates(kNow).links.empty()) << "over the head, whatever was measured";
}

TEST(RosterTest, ThoseThatContradictEachOtherStayApart) {
  Roster roster;
  Greet(roster, kA, 1000, 1);
  Greet(roster, kB, 1000, 1);
  roster.SetUnreachable(kB, kA);
  roster.KeepApart(kA, kB);
  roster.Left(kA);
  Greet(roster, kA, 1000, 1);
  EXPECT_TRUE(roster.Reachable(kB, kA)) << "a new link may be better";
  EXPECT_FALSE(roster.Reachable(kA, kB)) << "who lied once may lie again";
}

TEST(RosterTest, ThoseThatCannotBeUsedAreNoCandidates) {
  Roster roster;
  Greet(roster, kA, 1000, 1);
  Greet(roster, kB, 1000, 1);
  Greet(roster, kC, 1000, 1);
  EXPECT_EQ(Ids(roster.Candidates(kNow)), (std::vector<NodeId>{kA, kB, kC}));
  roster.Find(kA)->draining = true;
  roster.Find(kB)->hello.set_arithmetic(kernels::kKernelRevision + 1);
  EXPECT_EQ(Ids(roster.Candidates(kNow)), std::vector<NodeId>{kC});
  roster.Arrived(kC, kNow);  // Anew: its hello has not come yet.
  EXPECT_TRUE(roster.Candidates(kNow).nodes.empty());
  EXPECT_EQ(roster.members().size(), 3U);
}

TEST(RosterTest, WhoIsAvoidedIsSoUntilThenAlsoIfItComesAnew) {
  Roster roster;
  Greet(roster, kA, 1000, 1);
  const Instant until = kNow + std::chrono::seconds(60);
  roster.Avoid(kA, until);
  EXPECT_TRUE(roster.Candidates(kNow).nodes.at(0).avoid);
  roster.Left(kA);
  EXPECT_TRUE(roster.Candidates(kNow).nodes.empty());
  Greet(roster, kA, 1000, 1);
  EXPECT_TRUE(roster.Candidates(until - Duration{1}).nodes.at(0).avoid);
  EXPECT_FALSE(roster.Candidates(until).nodes.at(0).avoid);
}

TEST(RosterTest, WhoLeavesIsForgottenWithItsLinks) {
  Roster roster;
  Greet(roster, kA, 1000, 1);
  Greet(roster, kB, 1000, 1);
  roster.SetUnreachable(kA, kB);
  roster.SetUnreachable(kB, kC);
  roster.SetUnreachable(kC, kA);
  EXPECT_FALSE(roster.Reachable(kA, kB));
  EXPECT_TRUE(roster.Reachable(kB, kA)) << "one direction is not the other";
  roster.Left(kA);
  EXPECT_EQ(roster.Find(kA), nullptr);
  EXPECT_TRUE(roster.Reachable(kA, kB));
  EXPECT_TRUE(roster.Reachable(kC, kA));
  EXPECT_FALSE(roster.Reachable(kB, kC));
}

}  // namespace
}  // namespace shoal::coordinator
