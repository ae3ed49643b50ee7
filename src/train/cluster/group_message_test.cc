// Goal: what a head says about a group is taken as it is meant, or refused.
#include "train/cluster/group_message.h"

#include <gtest/gtest.h>

namespace shoal::train {
namespace {

using collective::Algorithm;

wire::pb::TrainGroup Valid() {
  wire::pb::TrainGroup group;
  group.set_epoch(7);
  group.set_pieces_ahead(2);
  for (const std::uint64_t node : {5, 3, 9}) {
    wire::pb::TrainMember& member = *group.add_members();
    member.set_node(node);
    member.set_address("sim:" + std::to_string(node));
  }
  return group;
}

TEST(GroupMessageTest, RanksAreInTheOrderOfTheMessage) {
  const auto read = ReadGroupMessage(Valid(), NodeId{3});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->rank, 1U);
  EXPECT_EQ(read->group.members.front(), NodeId{5});
  EXPECT_EQ(read->addresses.at(NodeId{9}), "sim:9");
  EXPECT_EQ(ReadGroupMessage(Valid(), NodeId{4})->rank, std::nullopt);
}

TEST(GroupMessageTest, RefusesWhatMakesNoSense) {
  const auto refused = [](auto change) {
    wire::pb::TrainGroup group = Valid();
    change(group);
    return ReadGroupMessage(group, NodeId{3}).status().code() == Code::kInvalidArgument;
  };
  EXPECT_TRUE(refused([](auto& g) { g.set_epoch(0); }));
  EXPECT_TRUE(refused([](auto& g) { g.set_algorithm(3); }));
  EXPECT_TRUE(refused([](auto& g) { g.set_wire(2); }));
  EXPECT_TRUE(refused([](auto& g) { g.set_pieces_ahead(0); }));
  EXPECT_TRUE(refused([](auto& g) { g.set_pieces_ahead(1U << 20U); }));
  EXPECT_TRUE(refused([](auto& g) { g.add_members()->set_node(5); }));
  EXPECT_TRUE(refused([](auto& g) { g.add_switches()->add_ranks(0); }));
  EXPECT_TRUE(refused([](auto& g) { WriteWay({.buckets = 1, .pieces = {.ahead = 0}}, g); }));
}

const std::vector<Bucket> kBuckets = {{60, 100, 1}, {30, 60, 1}, {0, 30, 3}};

Result<std::vector<Reduction>> Planned(const std::vector<ReduceWay>& ways,
                                       std::vector<Bucket> buckets = kBuckets) {
  wire::pb::TrainGroup group = Valid();
  for (const ReduceWay& way : ways) WriteWay(way, group);
  return PlanReductions(buckets, *ReadGroupMessage(group, NodeId{3}));
}

TEST(GroupMessageTest, WithoutWaysEachBucketIsOnItsOwn) {
  const auto plan = Planned({});
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->size(), 3U);
  EXPECT_EQ((*plan)[1].bucket, kBuckets[1]);
}

TEST(GroupMessageTest, JoinedBucketsAreWholeWhenTheLastIs) {
  const auto plan =
      Planned({{.buckets = 1}, {.buckets = 2, .algorithm = Algorithm::kHalvingDoubling}});
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->size(), 2U);
  EXPECT_EQ((*plan)[0].options.algorithm, Algorithm::kRing);
  EXPECT_EQ((*plan)[1].bucket, (Bucket{0, 60, 3}));
  EXPECT_EQ((*plan)[1].options.algorithm, Algorithm::kHalvingDoubling);
  EXPECT_EQ(Planned({{.buckets = 2}}, {{0, 10, 1}, {10, 15, 2}})->front().bucket,
            (Bucket{0, 15, 2}));
}

TEST(GroupMessageTest, WaysMustBeOfTheseBuckets) {
  EXPECT_FALSE(Planned({{.buckets = 2}}).ok());
  EXPECT_FALSE(Planned({{.buckets = 4}}).ok());
  EXPECT_FALSE(Planned({{.buckets = 0}, {.buckets = 3}}).ok());
  EXPECT_FALSE(Planned({{.buckets = 2}}, {{0, 10, 1}, {20, 30, 1}}).ok());
}

}  // namespace
}  // namespace shoal::train
