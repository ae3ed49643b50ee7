// Goal: a round loses nodes without losing samples or the one who gives weights, and knows who is
// wrong and who is late.
#include "train/cluster/chief_round.h"

#include <gtest/gtest.h>

#include "base/network.h"
#include "train/cluster/round_message.h"

namespace shoal::train {
namespace {

using Kind = wire::pb::TrainRound;

constexpr NodeId kHead{1};
constexpr NodeId kA{2};
constexpr NodeId kB{3};
constexpr NodeId kC{4};

std::vector<Sample> Samples(std::uint64_t begin, std::size_t count) {
  std::vector<Sample> samples;
  for (std::uint64_t i = begin; i < begin + count; ++i) {
    samples.push_back({.at = {.epoch = 0, .position = i}, .index = static_cast<std::int64_t>(i)});
  }
  return samples;
}

ChiefRound Step() {
  ChiefRound round{.number = 7, .kind = Kind::STEP, .iteration = 5};
  round.nodes = {kA, kB, kC};
  round.group = {kA, kB, kC};
  round.samples = {{kA, Samples(0, 2)}, {kB, Samples(2, 4)}, {kC, Samples(6, 2)}};
  round.next = {{kA, Samples(8, 2)}, {kB, Samples(10, 4)}, {kC, Samples(14, 2)}};
  return round;
}

void Say(ChiefRound& round, NodeId node, std::uint64_t fingerprint) {
  round.done[node].set_fingerprint(fingerprint);
}

TEST(ChiefRoundTest, WhoLeavesGivesHisSamplesBack) {
  ChiefRound round = Step();
  EXPECT_EQ(round.Samples(), 8U);
  EXPECT_EQ(round.Remove(kB, {kA, kC}).size(), 4U);
  EXPECT_EQ(round.Samples(), 4U);
  EXPECT_EQ(round.group, (std::vector<NodeId>{kA, kC}));
  EXPECT_FALSE(round.nodes.contains(kB));
}

TEST(ChiefRoundTest, WeightsComeFromAnotherWhoHasThem) {
  ChiefRound round{.kind = Kind::SYNC};
  round.nodes = {kA, kB, kC};
  round.group = {kA, kHead, kC};
  EXPECT_TRUE(round.Remove(kA, {kB}).empty());
  EXPECT_EQ(round.group, (std::vector<NodeId>{kB, kHead, kC}));
  EXPECT_TRUE(round.Remove(kB, {}).empty());
  EXPECT_TRUE(round.nodes.empty()) << "nobody has the weights";
}

TEST(ChiefRoundTest, TheMajorityIsRight) {
  ChiefRound round = Step();
  Say(round, kA, 10);
  Say(round, kB, 10);
  EXPECT_FALSE(round.IsDone());
  Say(round, kC, 10);
  EXPECT_TRUE(round.IsDone());
  EXPECT_TRUE(round.Dissenters().empty());
  Say(round, kA, 11);
  EXPECT_EQ(round.Dissenters(), std::vector<NodeId>{kA});
  round.kind = Kind::SYNC;
  EXPECT_TRUE(round.Dissenters().empty()) << "only gradients are compared";
}

TEST(ChiefRoundTest, StandsStillWhenSomeHaveDoneItAndNothingComes) {
  ChiefRound round = Step();
  const Instant begin{};
  round.BeginTry(begin);
  EXPECT_FALSE(round.StandsStill(kHead, begin + std::chrono::hours(1))) << "all compute";
  Say(round, kA, 1);
  round.waiting = {kB};
  EXPECT_FALSE(round.StandsStill(kHead, begin + std::chrono::seconds(59)));
  EXPECT_TRUE(round.StandsStill(kHead, begin + std::chrono::seconds(60)));
  EXPECT_EQ(round.Slow(), std::vector<NodeId>{kC});
  round.BeginTry(begin);
  EXPECT_EQ(round.Slow().size(), 3U);
}

TEST(ChiefRoundTest, EverybodyIsToldItsOwnPart) {
  ChiefRound round = Step();
  round.before = {.round = 6, .loss = 0.5, .note = "note"};
  wire::pb::TrainRound message;
  WriteRound(round, message);
  EXPECT_EQ(message.round(), 7U);
  EXPECT_EQ(message.step(), 5U);
  EXPECT_EQ(message.committed(), 6U);
  EXPECT_EQ(message.committed_loss(), 0.5);
  EXPECT_EQ(message.committed_note(), "note");
  for (const NodeId node : {kB, kA}) {
    WritePart(round, node, message);
    const std::vector<Sample>& samples = round.samples[node];
    EXPECT_EQ(message.weight(), static_cast<double>(samples.size()) / 8);
    EXPECT_EQ(message.samples_in_all(), 8U);
    ASSERT_EQ(message.samples_size(), 1);
    EXPECT_EQ(message.samples(0).position(), samples.front().at.position);
    EXPECT_EQ(message.samples(0).count(), samples.size());
    ASSERT_EQ(message.next_size(), 1);
    EXPECT_EQ(message.next(0).position(), round.next[node].front().at.position);
  }
}

TEST(ChiefRoundTest, WhatComesNextIsLeftOutIfThereIsNoRoom) {
  ChiefRound round = Step();
  const auto singles = [](std::uint64_t begin, std::size_t count) {
    std::vector<Sample> samples = Samples(begin, 2 * count);
    for (std::size_t i = 0; i < count; ++i) samples[i] = samples[2 * i];
    samples.resize(count);
    return samples;
  };
  wire::pb::TrainRound message;
  WriteRound(round, message);
  for (const std::size_t count : {8000U, 20000U}) {
    round.samples[kA] = singles(0, count);
    round.next[kA] = singles(100000, count);
    WritePart(round, kA, message);
    EXPECT_EQ(message.samples_size(), static_cast<int>(count));
    EXPECT_EQ(message.next_size(), count == 8000 ? 8000 : 0);
    EXPECT_LT(message.ByteSizeLong(), kControlFrameBytesMax - 50);
  }
}

}  // namespace
}  // namespace shoal::train
