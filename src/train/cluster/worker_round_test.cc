// Goal: a worker does no round on weights that are not everybody's, and knows when its part of a
// round is whole and when the others keep it waiting.
#include "train/cluster/worker_round.h"

#include <gtest/gtest.h>

namespace shoal::train {
namespace {

using Kind = wire::pb::TrainRound;

constexpr NodeId kSelf{5};
constexpr NodeId kOther{6};

Kind Message(std::uint64_t round, Kind::Kind kind, const std::vector<NodeId>& members) {
  Kind message;
  message.set_round(round);
  message.set_committed(round - 1);
  message.set_kind(kind);
  message.mutable_group()->set_epoch(10 * round);
  for (const NodeId node : members) {
    message.mutable_group()->add_members()->set_node(ToNumber(node));
  }
  return message;
}

std::optional<WorkerRound> Round(std::uint64_t number, Kind::Kind kind) {
  std::optional<WorkerRound> round(std::in_place);
  round->number = number;
  round->kind = kind;
  round->epoch = 10 * number;
  round->rank = 0;
  round->told_done = true;
  return round;
}

bool CanFollow(const Kind& message, const std::optional<WorkerRound>& round, bool in_step) {
  return train::CanFollow(message, round, in_step, kSelf);
}

TEST(WorkerRoundTest, WhoGetsWeightsNeedsNone) {
  EXPECT_TRUE(CanFollow(Message(3, Kind::SYNC, {kOther, kSelf}), {}, false));
  EXPECT_FALSE(CanFollow(Message(3, Kind::SYNC, {kSelf, kOther}), {}, false)) << "it gives them";
  EXPECT_FALSE(CanFollow(Message(3, Kind::SYNC, {kOther}), {}, false));
  EXPECT_FALSE(CanFollow(Message(3, Kind::STEP, {kOther, kSelf}), {}, false));
}

TEST(WorkerRoundTest, AStepFollowsOnTheOneThatIsCommitted) {
  const Kind message = Message(3, Kind::STEP, {kSelf, kOther});
  EXPECT_TRUE(CanFollow(message, Round(2, Kind::STEP), true));
  EXPECT_FALSE(CanFollow(message, Round(2, Kind::STEP), false));
  EXPECT_TRUE(CanFollow(message, Round(2, Kind::SYNC), false)) << "it has just got them";
  EXPECT_FALSE(CanFollow(message, Round(1, Kind::STEP), true)) << "it has missed one";
  std::optional<WorkerRound> undone = Round(2, Kind::STEP);
  undone->told_done = false;
  EXPECT_FALSE(CanFollow(message, undone, true));
}

TEST(WorkerRoundTest, TheSameRoundComesAgainOnlyInALaterEpoch) {
  const std::optional<WorkerRound> round = Round(3, Kind::STEP);
  Kind message = Message(3, Kind::STEP, {kSelf, kOther});
  EXPECT_FALSE(CanFollow(message, round, true));
  message.mutable_group()->set_epoch(31);
  EXPECT_TRUE(CanFollow(message, round, true));
  message.set_kind(Kind::SYNC);
  EXPECT_FALSE(CanFollow(message, round, true));
}

TEST(WorkerRoundTest, OfManyPartsSeveralAreOneInterval) {
  for (const std::size_t parts : {std::size_t{3}, std::size_t{1000}, std::size_t{100'000}}) {
    WorkerRound round;
    round.times.load.end = 1;
    for (std::size_t i = 1; i <= parts; ++i) {
      round.NotePart(parts, Instant{std::chrono::seconds(1 + i)});
    }
    EXPECT_EQ(round.parts_done, parts);
    const std::vector<Interval>& compute = round.times.compute;
    EXPECT_EQ(compute.size(), std::min<std::size_t>(parts, 1000));
    EXPECT_EQ(compute.front().begin, 1);
    EXPECT_EQ(compute.back().end, static_cast<double>(parts + 1));
    EXPECT_EQ(compute[1].begin, compute[0].end);
  }
}

TEST(WorkerRoundTest, IsWholeWithAllPartsAndAllSums) {
  WorkerRound round;
  EXPECT_TRUE(round.IsWhole(2)) << "it is not in the group";
  round.rank = 0;
  round.plan.resize(3);
  round.reductions_done = 3;
  round.parts_done = 1;
  EXPECT_FALSE(round.IsWhole(2));
  round.parts_done = 2;
  EXPECT_TRUE(round.IsWhole(2));
  round.reductions_done = 2;
  EXPECT_FALSE(round.IsWhole(2));
  round.kind = Kind::SYNC;
  EXPECT_FALSE(round.IsWhole(2)) << "nothing was begun";
  round.reductions = 2;
  EXPECT_TRUE(round.IsWhole(2));
}

}  // namespace
}  // namespace shoal::train
