// Goal: every pair is measured once, nobody is in two trials at a time.
#include "train/cluster/link_survey.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

#include "train/cluster/link_of_echoes.h"

namespace shoal::train {
namespace {

std::vector<NodeId> Nodes(std::size_t count) {
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < count; ++i) nodes.push_back(NodeId{i + 2});
  return nodes;
}

// Runs it to its end; how often each pair was measured.
std::map<LinkSurvey::Pair, int> Measure(LinkSurvey survey) {
  std::map<LinkSurvey::Pair, int> measured;
  while (!survey.over()) {
    const auto pairs = survey.TakeFree();
    EXPECT_FALSE(pairs.empty());
    std::set<NodeId> nodes;
    for (const auto& pair : pairs) {
      EXPECT_TRUE(nodes.insert(pair.first).second);
      EXPECT_TRUE(nodes.insert(pair.second).second);
      ++measured[pair];
    }
    EXPECT_TRUE(survey.TakeFree().empty());
    for (const auto& pair : pairs) survey.Done(pair);
  }
  return measured;
}

TEST(LinkSurveyTest, FewNodesHaveAllTheirPairsMeasured) {
  for (std::size_t count = 0; count < 12; ++count) {
    const auto measured = Measure(LinkSurvey(Nodes(count), {}));
    EXPECT_EQ(measured.size(), count * (count > 0 ? count - 1 : 0) / 2);
    for (const auto& [pair, times] : measured) EXPECT_EQ(times, 1);
  }
}

TEST(LinkSurveyTest, ManyNodesAreMeasuredWithThoseNearThem) {
  const auto measured = Measure(LinkSurvey(Nodes(100), {}));
  EXPECT_LE(measured.size(), 800U);
  EXPECT_TRUE(measured.contains({NodeId{50}, NodeId{58}}));
}

TEST(LinkSurveyTest, WhatWasTriedIsNotTriedAgain) {
  LinkTable known;
  known.Set(NodeId{3}, NodeId{2}, std::nullopt);
  const auto measured = Measure(LinkSurvey(Nodes(3), known));
  EXPECT_EQ(measured.size(), 2U);
  EXPECT_FALSE(measured.contains({NodeId{2}, NodeId{3}}));
  known.Arrive(NodeId{2}, "here");
  EXPECT_EQ(Measure(LinkSurvey(Nodes(3), known)).size(), 3U);
}

TEST(LinkTableTest, WhoComesBackFromTheSamePlaceHasTheSameLinks) {
  LinkTable table;
  table.Arrive(NodeId{2}, "here");
  table.Set(NodeId{2}, NodeId{3}, collective::LinkModel());
  table.Set(NodeId{2}, NodeId{4}, std::nullopt);
  table.Arrive(NodeId{2}, "here");
  EXPECT_NE(table.Find(NodeId{3}, NodeId{2}), nullptr);
  EXPECT_FALSE(table.WasTried(NodeId{2}, NodeId{4}));  // Perhaps it works now.
  table.Arrive(NodeId{2}, "there");
  EXPECT_EQ(table.Find(NodeId{3}, NodeId{2}), nullptr);
}

TEST(LinkSurveyTest, WhoLeavesFreesTheOther) {
  LinkSurvey survey(Nodes(3), {});
  EXPECT_EQ(survey.TakeFree().size(), 1U);  // 2 and 3.
  EXPECT_TRUE(survey.TakeFree().empty());
  survey.Leave(NodeId{2});
  const auto pairs = survey.TakeFree();
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0], LinkSurvey::Pair(NodeId{3}, NodeId{4}));
  EXPECT_EQ(survey.Rest(), pairs);
  survey.Done(pairs[0]);
  EXPECT_TRUE(survey.over());
}

TEST(LinkOfEchoesTest, TheBestTurnOfEachSizeCounts) {
  const std::array<std::uint64_t, 4> elements = {1, 1, 250'001, 250'001};
  const auto link = LinkOfEchoes(elements, std::array{0.002, 0.009, 0.022, 0.05});
  ASSERT_TRUE(link.ok());
  EXPECT_NEAR(link->bytes_per_second, 100e6, 1);
  EXPECT_NEAR(link->alpha_seconds, 0.001, 1e-6);
}

TEST(LinkOfEchoesTest, BytesThatCostNothingAreAFastLink) {
  const auto link = LinkOfEchoes(std::array<std::uint64_t, 2>{1, 1000}, std::array{0.002, 0.0019});
  ASSERT_TRUE(link.ok());
  EXPECT_EQ(link->bytes_per_second, kLinkRateMax);
  EXPECT_DOUBLE_EQ(link->alpha_seconds, 0.001);
}

TEST(LinkOfEchoesTest, RefusesWhatIsNoTime) {
  const std::array<std::uint64_t, 2> elements = {1, 1000};
  EXPECT_FALSE(LinkOfEchoes(elements, std::array{0.001}).ok());
  EXPECT_FALSE(LinkOfEchoes(elements, std::array{0.001, -1.0}).ok());
  EXPECT_FALSE(LinkOfEchoes(std::array<std::uint64_t, 2>{9, 9}, std::array{0.1, 0.2}).ok());
  EXPECT_FALSE(LinkOfEchoes(elements, std::array{0.001, std::nan("")}).ok());
}

}  // namespace
}  // namespace shoal::train
