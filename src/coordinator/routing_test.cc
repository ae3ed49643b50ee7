// Goal: a new answer goes where its tokens will come soonest, and does not wait for predictions
// that are off.
#include "coordinator/routing.h"

#include <gtest/gtest.h>

#include <limits>

namespace shoal::coordinator {
namespace {

LineLoad Line(double predicted, std::optional<double> measured, std::size_t answers,
              std::size_t positions_free = 1000) {
  return {.predicted = predicted,
          .measured = measured,
          .stages = 3,
          .answers = answers,
          .positions_free = positions_free};
}

TEST(RoutingTest, TheFasterOneIsTaken) {
  EXPECT_EQ(ChooseLine({Line(0.2, {}, 0), Line(0.1, {}, 0)}), 1U);
  EXPECT_EQ(ChooseLine({Line(0.1, 0.3, 0), Line(0.1, 0.2, 0)}), 1U);
}

TEST(RoutingTest, OfEqualsTheIdleOneIsTaken) {
  EXPECT_EQ(ChooseLine({Line(0.1, 0.1, 2), Line(0.1, 0.1, 0)}), 1U);
}

TEST(RoutingTest, AFastOneIsTakenAlsoWhenItIsBusyUntilTheSlowOneIsSooner) {
  EXPECT_EQ(ChooseLine({Line(0.1, 0.1, 4), Line(0.3, 0.3, 0)}), 0U);
  EXPECT_EQ(ChooseLine({Line(0.1, 0.1, 12), Line(0.3, 0.3, 0)}), 1U);
}

TEST(RoutingTest, OfThoseAboutAsGoodTheOneWithMostRoomIsTaken) {
  EXPECT_EQ(ChooseLine({Line(0.1, 0.100, 1, 500), Line(0.1, 0.105, 1, 800)}), 1U);
  EXPECT_EQ(ChooseLine({Line(0.1, 0.100, 1, 500), Line(0.1, 0.200, 1, 800)}), 0U);
}

TEST(RoutingTest, PredictionsAreMeasuredByThoseOfOthers) {
  // A hundred times too pessimistic, and too optimistic: as fast as the other, and idle.
  EXPECT_EQ(ChooseLine({Line(10, 0.1, 1), Line(10, {}, 0)}), 1U);
  EXPECT_EQ(ChooseLine({Line(0.001, 0.1, 1), Line(0.001, {}, 0)}), 1U);
  // Twice as slow, and idle.
  EXPECT_EQ(ChooseLine({Line(0.001, 0.1, 1), Line(0.002, {}, 0)}), 0U);
}

TEST(RoutingTest, WhatIsNoNumberIsStillAChoice) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_LT(ChooseLine({Line(infinity, {}, 0), Line(infinity, 0.1, 0)}), 2U);
  EXPECT_LT(ChooseLine({Line(0, {}, 0), Line(0, 0.0, 3)}), 2U);
}

}  // namespace
}  // namespace shoal::coordinator
