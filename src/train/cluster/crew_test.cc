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

// Whom the head lets work, by what they tell of themselves and what their owners wish.
class CrewCareTest : public CrewTest {
 protected:
  CrewCareTest() {
    for (const NodeId node : {kA, kB}) EXPECT_TRUE(Ready(node, 1).ok());
  }
  void Wish(const wire::pb::Wishes& wishes) {
    wire::pb::NodeHello hello;
    *hello.mutable_wishes() = wishes;
    care_.Add(kA, hello);
    wire::pb::TrainReady ready;
    ready.set_shape(1);
    ready.add_buckets(10);
    EXPECT_TRUE(care_.OnReady(kA, ready).ok());
    care_.Add(kB, {});
    EXPECT_TRUE(care_.OnReady(kB, ready).ok());
  }
  // What kA tells, `after` what it told last.
  void Tell(const wire::pb::Telemetry& telemetry, int after = 1) {
    now_ = now_ + std::chrono::seconds(after);
    care_.OnTelemetry(kA, telemetry, now_);
  }
  std::int64_t Share() { return (*care_.Deal(16, now_))[kA]; }

  int minute_ = 12 * 60;
  Instant now_{std::chrono::hours(1)};
  Crew care_{{.fingerprint = 1, .buckets = {10}}, [this] { return minute_; }};
};

TEST_F(CrewCareTest, WhatSaysThatItChargesDoes) {
  Wish({});
  wire::pb::Telemetry telemetry;
  telemetry.set_battery_level(0.15);
  telemetry.set_battery_amperes(-0.3);  // More than a weak charger brings.
  telemetry.set_charging(true);
  Tell(telemetry);
  EXPECT_EQ(Share(), 8);
  telemetry.set_charging(false);
  telemetry.set_battery_amperes(0);  // A sensor that knows no current.
  Tell(telemetry);
  EXPECT_EQ(Share(), 5);
  telemetry.clear_charging();
  telemetry.set_battery_amperes(1);
  Tell(telemetry);
  EXPECT_EQ(Share(), 8);
}

TEST_F(CrewCareTest, OnlyWhileCharging) {
  wire::pb::Wishes wishes;
  wishes.set_only_charging(true);
  Wish(wishes);
  EXPECT_EQ(Share(), 0) << "nobody knows";
  wire::pb::Telemetry telemetry;
  telemetry.set_charging(true);
  Tell(telemetry);
  EXPECT_EQ(Share(), 8) << "what it says first holds at once";
  telemetry.set_charging(false);
  Tell(telemetry);
  EXPECT_EQ(Share(), 0);
  telemetry.set_charging(true);
  Tell(telemetry, 30);
  EXPECT_EQ(Share(), 0) << "plugs wobble";
  Tell(telemetry, 31);
  EXPECT_EQ(Share(), 8);
}

TEST_F(CrewCareTest, OnlyAtItsHours) {
  wire::pb::Wishes wishes;
  wishes.set_hours_begin(22 * 60);
  wishes.set_hours_end(7 * 60);
  Wish(wishes);
  EXPECT_EQ(Share(), 0);
  minute_ = 23 * 60;
  EXPECT_EQ(Share(), 8);
  minute_ = 7 * 60;
  EXPECT_EQ(Share(), 0);
}

// As the node itself, which stopped: also if it comes again meanwhile.
TEST_F(CrewCareTest, WhatWasTooHotRestsUntilItIsCool) {
  Wish({});
  wire::pb::Telemetry telemetry;
  for (const auto& [celsius, share] :
       {std::pair(49.0, 5), std::pair(50.0, 0), std::pair(41.0, 0), std::pair(39.0, 8)}) {
    telemetry.set_battery_celsius(celsius);
    Tell(telemetry);
    EXPECT_EQ(Share(), share) << celsius;
    Wish({});
    Tell(telemetry);
    EXPECT_EQ(Share(), share) << celsius;
  }
}

}  // namespace
}  // namespace shoal::train
