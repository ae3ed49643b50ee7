// Goal: a node that gets slower says so, and nothing else looks like it.
#include "agent/step_times.h"

#include <gtest/gtest.h>

namespace shoal::agent {
namespace {

using std::chrono::milliseconds;

constexpr double kPromised = 0.01;

void AddMany(StepTimes& times, int count, std::size_t rows, Duration time,
             double promised = kPromised) {
  for (int i = 0; i < count; ++i) times.Add(rows, time, promised);
}

TEST(StepTimesTest, AFewBatchesSayNothing) {
  StepTimes times;
  EXPECT_FALSE(times.Throttle().has_value());
  AddMany(times, 7, 1, milliseconds(10));
  EXPECT_FALSE(times.Throttle().has_value());
  times.Add(1, milliseconds(10), kPromised);
  ASSERT_TRUE(times.Throttle().has_value());
  EXPECT_NEAR(*times.Throttle(), 1.0, 0.01);
}

TEST(StepTimesTest, HeatIsSeenAndAHiccupIsNot) {
  StepTimes times;
  AddMany(times, 50, 1, milliseconds(10));
  times.Add(1, milliseconds(20), kPromised);
  EXPECT_LT(*times.Throttle(), 1.2);
  AddMany(times, 40, 1, milliseconds(20));
  EXPECT_GT(*times.Throttle(), 1.9);
  EXPECT_LT(*times.Throttle(), 2.1);
  AddMany(times, 40, 1, milliseconds(10));
  EXPECT_LT(*times.Throttle(), 1.1) << "it has cooled";
}

TEST(StepTimesTest, BatchesAreComparedWithThoseOfTheirSize) {
  StepTimes times;
  AddMany(times, 20, 1, milliseconds(10));
  AddMany(times, 20, 64, milliseconds(200));
  EXPECT_NEAR(*times.Throttle(), 1.0, 0.01);
  // 33 to 64 rows are one size.
  AddMany(times, 30, 33, milliseconds(400));
  EXPECT_GT(*times.Throttle(), 1.9);
  times.Add(1, milliseconds(10), kPromised);
  EXPECT_NEAR(*times.Throttle(), 1.0, 0.01) << "of the size that came last";
}

TEST(StepTimesTest, BatchesWhoseEndsAreNoticedTogetherAreNoneTheFaster) {
  StepTimes times;
  for (int i = 0; i < 50; ++i) {
    times.Add(1, milliseconds(20), kPromised);
    times.Add(1, std::chrono::microseconds(5), kPromised);
  }
  EXPECT_NEAR(*times.Throttle(), 1.0, 0.2);
}

TEST(StepTimesTest, TheBestIsForgottenInTheEnd) {
  StepTimes times;
  AddMany(times, 20, 1, milliseconds(1));  // Lucky moments.
  AddMany(times, 100, 1, milliseconds(10));
  EXPECT_GT(*times.Throttle(), 8.0);
  AddMany(times, 40'000, 1, milliseconds(10));
  EXPECT_NEAR(*times.Throttle(), 1.0, 0.01);
}

TEST(StepTimesTest, OtherLayersAreNoOtherSpeed) {
  StepTimes times;
  AddMany(times, 100, 1, milliseconds(10), 0.005);
  EXPECT_NEAR(*times.Slowness(), 2.0, 1e-9);
  AddMany(times, 100, 1, milliseconds(30), 0.015);
  EXPECT_NEAR(*times.Slowness(), 2.0, 1e-9);
  EXPECT_NEAR(*times.Throttle(), 1.0, 0.01);
}

TEST(StepTimesTest, SlownessIsOfTheLastTwoSecondsOfWork) {
  StepTimes times;
  AddMany(times, 7, 1, milliseconds(10));
  EXPECT_FALSE(times.Slowness().has_value());
  AddMany(times, 1000, 1, milliseconds(10));
  EXPECT_NEAR(*times.Slowness(), 1.0, 1e-9);
  AddMany(times, 33, 1, milliseconds(30));
  EXPECT_NEAR(*times.Slowness(), 2.0 / 1.34, 0.05) << "half of it";
  AddMany(times, 40, 1, milliseconds(30));
  EXPECT_NEAR(*times.Slowness(), 3.0, 1e-9);
  // Batches of seconds: the last eight.
  AddMany(times, 8, 64, milliseconds(4000), 2);
  EXPECT_NEAR(*times.Slowness(), 2.0, 1e-9);
}

TEST(StepTimesTest, OneLongBatchIsNoSlowness) {
  StepTimes times;
  AddMany(times, 100, 1, milliseconds(10));
  times.Add(1, milliseconds(1500), kPromised);
  EXPECT_NEAR(*times.Slowness(), 1.0, 1e-9);
}

// A quota of CPU time: most batches do not notice, some wait for the next period.
TEST(StepTimesTest, BreaksBetweenBatchesAreSlowness) {
  StepTimes times;
  for (int period = 0; period < 40; ++period) {
    AddMany(times, 2, 1, milliseconds(10));
    times.Add(1, milliseconds(80), kPromised);
  }
  EXPECT_NEAR(*times.Slowness(), 100.0 / 30, 0.2);
}

TEST(StepTimesTest, WithoutAPromiseNothingIsSaid) {
  StepTimes times;
  AddMany(times, 20, 1, milliseconds(10), 0);
  EXPECT_FALSE(times.Slowness().has_value());
  EXPECT_FALSE(times.Throttle().has_value());
}

TEST(StepTimesTest, AClockThatDoesNotMoveSaysNothing) {
  StepTimes times;
  AddMany(times, 20, 0, Duration{0});
  EXPECT_FALSE(times.Throttle().has_value());
  EXPECT_FALSE(times.Slowness().has_value());
}

}  // namespace
}  // namespace shoal::agent
