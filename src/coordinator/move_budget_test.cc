// Goal: a node's layers move at once when they must, and otherwise fewer than five times in any
// hour.
#include "coordinator/move_budget.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>

namespace shoal::coordinator {
namespace {

constexpr NodeId kA{2};
constexpr NodeId kB{3};

bool Allows(const MoveBudget& budget, NodeId node, bool more, Instant now) {
  return std::isfinite(budget.Price(node, more, now));
}

TEST(MoveBudgetTest, FewerThanSixInAnyHour) {
  MoveBudget budget;
  std::deque<Instant> moves;
  // Whoever asks every ten seconds for a day.
  for (Instant now{std::chrono::seconds(5)}; now.since_origin < std::chrono::hours(24);
       now = now + std::chrono::seconds(10)) {
    if (!Allows(budget, kA, false, now)) continue;
    budget.Spend(kA, now);
    moves.push_back(now);
    while (now - moves.front() >= std::chrono::hours(1)) moves.pop_front();
    ASSERT_LT(moves.size(), 6U);
  }
  EXPECT_EQ(moves.size(), 2U) << "one every half hour, in the long run";
}

TEST(MoveBudgetTest, TheFirstOnesAreAtOnceAndEachNodeHasItsOwn) {
  MoveBudget budget;
  const Instant now{std::chrono::hours(1)};
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(Allows(budget, kA, false, now));
    budget.Spend(kA, now);
  }
  EXPECT_FALSE(Allows(budget, kA, false, now));
  EXPECT_TRUE(Allows(budget, kB, true, now));
  EXPECT_FALSE(Allows(budget, kA, false, now + std::chrono::minutes(29)));
  EXPECT_TRUE(Allows(budget, kA, false, now + std::chrono::minutes(30)));
}

TEST(MoveBudgetTest, TheLastOneIsForGettingLess) {
  MoveBudget budget;
  const Instant now{std::chrono::hours(1)};
  budget.Spend(kA, now);
  EXPECT_TRUE(Allows(budget, kA, true, now));
  budget.Spend(kA, now);
  EXPECT_FALSE(Allows(budget, kA, true, now));
  EXPECT_TRUE(Allows(budget, kA, false, now));
}

TEST(MoveBudgetTest, TheFewerAreLeftTheMoreTheyCount) {
  MoveBudget budget;
  const Instant now{std::chrono::hours(1)};
  double before = 0;
  for (int i = 0; i < 3; ++i) {
    const double price = budget.Price(kA, false, now);
    EXPECT_GT(price, before);
    EXPECT_EQ(budget.PriceOfRepair(kA, false, now), price);
    before = price;
    budget.Spend(kA, now);
  }
  EXPECT_GT(budget.PriceOfRepair(kA, false, now), before);
}

TEST(MoveBudgetTest, WhatMustMoveDoesAndCounts) {
  MoveBudget budget;
  const Instant now{std::chrono::hours(1)};
  double before = 0;
  for (int i = 0; i < 100; ++i) {
    const double price = budget.PriceOfRepair(kA, true, now);
    EXPECT_TRUE(std::isfinite(price));
    EXPECT_GE(price, before);
    before = price;
    budget.Spend(kA, now);
  }
  EXPECT_GT(before, 5) << "a sixth one in an hour is the last resort";
  // It is not held against it for ever.
  EXPECT_FALSE(Allows(budget, kA, false, now + std::chrono::minutes(89)));
  EXPECT_TRUE(Allows(budget, kA, false, now + std::chrono::minutes(90)));
}

}  // namespace
}  // namespace shoal::coordinator
