#include "shoal/link_rows.h"

#include <gtest/gtest.h>

#include <set>

namespace shoal {
namespace {

using Kind = wire::pb::TrainTrial;

TEST(LinkRowsTest, CountsEndWithAll) {
  EXPECT_EQ(NodeCounts(4), (std::vector<std::size_t>{2, 3, 4}));
  EXPECT_EQ(NodeCounts(2), (std::vector<std::size_t>{2}));
  EXPECT_EQ(NodeCounts(20), (std::vector<std::size_t>{2, 3, 4, 5, 6, 7, 8, 16, 20}));
}

TEST(LinkRowsTest, RingPairsAreNeighbours) {
  EXPECT_EQ(RingPairs(2, 16).size(), 1U);
  const auto three = RingPairs(3, 16);
  EXPECT_EQ(three, (std::vector<std::pair<std::size_t, std::size_t>>{{0, 1}, {1, 2}, {2, 0}}));
  const auto some = RingPairs(100, 16);
  EXPECT_EQ(some.size(), 16U);
  EXPECT_EQ(std::set(some.begin(), some.end()).size(), 16U);
}

TEST(LinkRowsTest, DisjointPairsShareNobody) {
  EXPECT_EQ(DisjointPairs(5), (std::vector<std::pair<std::size_t, std::size_t>>{{0, 1}, {2, 3}}));
}

TEST(LinkRowsTest, TheSlowestPairIsNamed) {
  const std::vector<PairSpeed> pairs = {
      {"a and b", 1e-3, 100e6}, {"b and c", 3e-3, 10e6}, {"c and a", 2e-3, 110e6}};
  const auto rows = LinkRows(3, pairs, {});
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_DOUBLE_EQ(rows[0].ours, 800);
  EXPECT_EQ(rows[1].name, "n=3 slowest: b and c");
  EXPECT_DOUBLE_EQ(rows[1].ours, 80);
  EXPECT_DOUBLE_EQ(rows[2].ours, 2);
  EXPECT_EQ(rows[2].unit, "ms");
}

TEST(LinkRowsTest, BoundsAreWhatANodeMustSend) {
  EXPECT_DOUBLE_EQ(SecondsAtLeast(Kind::ALL_REDUCE, 4, 100e6, 100e6), 1.5);
  EXPECT_DOUBLE_EQ(SecondsAtLeast(Kind::BROADCAST, 4, 100e6, 100e6), 1);
  const auto rows = CollectiveRows("ring", Kind::ALL_REDUCE, 4, 100e6, 3, 100e6);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "n=4 100 MB ring");
  EXPECT_DOUBLE_EQ(*rows[0].limit, 1.5);
  EXPECT_NEAR(rows[1].ours / *rows[1].limit, 0.5, 1e-12);
  EXPECT_FALSE(CollectiveRows("ring", Kind::ALL_REDUCE, 4, 1e6, 3, {})[0].limit.has_value());
}

}  // namespace
}  // namespace shoal
