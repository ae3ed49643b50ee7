// Goal: whom the head lets work: who has built what the others have, and is not sent away.
#include "train/cluster/crew.h"

#include <gtest/gtest.h>

namespace shoal::train {
namespace {

constexpr NodeId kA{2};
constexpr NodeId kB{3};
constexpr NodeId kC{4};

class CrewTest : public testing::Test {
 protected:
  CrewTest() {
    for (const NodeId node : {kA, kB, kC}) crew_.Add(node, {});
  }
  Status Ready(NodeId node, std::uint64_t shape, std::uint64_t bucket = 10) {
    wire::pb::TrainReady ready;
    ready.set_shape(shape);
    ready.add_buckets(bucket);
    return crew_.OnReady(node, ready);
  }

  Crew crew_{{.fingerprint = 1, .buckets = {10}}};
};

TEST_F(CrewTest, TheHeadSaysWhatAllMustHave) {
  EXPECT_EQ(Ready(kA, 2).code(), Code::kInvalidArgument);
  EXPECT_EQ(Ready(kA, 1, 11).code(), Code::kInvalidArgument);
  EXPECT_TRUE(Ready(kB, 1).ok());
  EXPECT_TRUE(Ready(kC, 1).ok());
  EXPECT_EQ(crew_.In(Mate::State::kReady), (std::vector<NodeId>{kB, kC}));
  EXPECT_EQ(crew_.buckets(), std::vector<std::uint64_t>{10});
}

TEST_F(CrewTest, WhoIsAtOddsWithManyIsToBlame) {
  crew_.NoteQuarrel(kA, kB);
  EXPECT_EQ(crew_.MostToBlame({{kA, 1}, {kB, 3}}), kB) << "equal but for the accusations";
  crew_.NoteQuarrel(kA, kC);
  EXPECT_EQ(crew_.MostToBlame({{kA, 1}, {kB, 3}, {kC, 1}}), kA);
}

TEST_F(CrewTest, WhoIsSentAwayGetsNothingForLongerEachTime) {
  for (const NodeId node : {kA, kB, kC}) EXPECT_TRUE(Ready(node, 1).ok());
  Instant now{};
  Duration last{};
  for (int i = 0; i < 3; ++i) {
    const Duration ban = crew_.Ban(kA, now);
    EXPECT_GT(ban, last);
    EXPECT_FALSE(crew_.Deal(30, now)->contains(kA));
    now = now + ban;
    EXPECT_EQ(crew_.Deal(30, now)->at(kA), 10);
    last = ban;
  }
  for (int i = 0; i < 10; ++i) last = crew_.Ban(kA, now);
  EXPECT_EQ(crew_.Ban(kA, now), last) << "but not for ever";
}

}  // namespace
}  // namespace shoal::train
