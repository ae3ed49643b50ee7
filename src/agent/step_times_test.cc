// Goal: a node that gets slower says so, and nothing else looks like it.
#include "agent/step_times.h"

#include <gtest/gtest.h>

namespace shoal::agent {
namespace {

using std::chrono::milliseconds;

void AddMany(StepTimes& times, int count, std::size_t rows, Duration time) {
  for (int i = 0; i < count; ++i) times.Add(rows, time);
}

TEST(StepTimesTest, AFewBatchesSayNothing) {
  StepTimes times;
  EXPECT_FALSE(times.Throttle().has_value());
  AddMany(times, 7, 1, milliseconds(10));
  EXPECT_FALSE(times.Throttle().has_value());
  times.Add(1, milliseconds(10));
  ASSERT_TRUE(times.Throttle().has_value());
  EXPECT_NEAR(*times.Throttle(), 1.0, 0.01);
}

TEST(StepTimesTest, HeatIsSeenAndAHiccupIsNot) {
  StepTimes times;
  AddMany(times, 50, 1, milliseconds(10));
  times.Add(1, milliseconds(20));
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
  times.Add(1, milliseconds(10));
  EXPECT_NEAR(*times.Throttle(), 1.0, 0.01) << "of the size that came last";
}

TEST(StepTimesTest, TheBestIsForgottenInTheEnd) {
  StepTimes times;
  times.Add(1, milliseconds(1));  // One lucky moment.
  AddMany(times, 100, 1, milliseconds(10));
  EXPECT_GT(*times.Throttle(), 8.0);
  AddMany(times, 40'000, 1, milliseconds(10));
  EXPECT_NEAR(*times.Throttle(), 1.0, 0.01);
}

TEST(StepTimesTest, AfterClearNothingIsKnown) {
  StepTimes times;
  AddMany(times, 20, 1, milliseconds(10));
  times.Clear();
  EXPECT_FALSE(times.Throttle().has_value());
  AddMany(times, 20, 1, milliseconds(30));
  EXPECT_NEAR(*times.Throttle(), 1.0, 0.01) << "other layers take another time";
}

TEST(StepTimesTest, AClockThatDoesNotMoveSaysNothing) {
  StepTimes times;
  AddMany(times, 20, 0, Duration{0});
  EXPECT_FALSE(times.Throttle().has_value());
}

}  // namespace
}  // namespace shoal::agent
