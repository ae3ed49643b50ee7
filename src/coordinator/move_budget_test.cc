// Goal: a node's layers move at once when they must, and fewer than six times in any hour.
#include "coordinator/move_budget.h"

#include <gtest/gtest.h>

#include <deque>

namespace shoal::coordinator {
namespace {

constexpr NodeId kA{2};
constexpr NodeId kB{3};

TEST(MoveBudgetTest, FewerThanSixInAnyHour) {
  MoveBudget budget;
  std::deque<Instant> moves;
  // Whoever asks every ten seconds for a day.
  for (Instant now{std::chrono::seconds(5)}; now.since_origin < std::chrono::hours(24);
       now = now + std::chrono::seconds(10)) {
    if (!budget.Allows(kA, false, now)) continue;
    budget.Spend(kA, now);
    moves.push_back(now);
    while (now - moves.front() > std::chrono::hours(1)) moves.pop_front();
    ASSERT_LT(moves.size(), 6U);
  }
  EXPECT_EQ(moves.size(), 3U) << "one every half hour, in the long run";
}

TEST(MoveBudgetTest, TheFirstOnesAreAtOnceAndEachNodeHasItsOwn) {
  MoveBudget budget;
  const Instant now{std::chrono::hours(1)};
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(budget.Allows(kA, false, now));
    budget.Spend(kA, now);
  }
  EXPECT_FALSE(budget.Allows(kA, false, now));
  EXPECT_TRUE(budget.Allows(kB, true, now));
  EXPECT_FALSE(budget.Allows(kA, false, now + std::chrono::minutes(29)));
  EXPECT_TRUE(budget.Allows(kA, false, now + std::chrono::minutes(30)));
}

TEST(MoveBudgetTest, TheLastOneIsForGettingLess) {
  MoveBudget budget;
  const Instant now{std::chrono::hours(1)};
  budget.Spend(kA, now);
  EXPECT_TRUE(budget.Allows(kA, true, now));
  budget.Spend(kA, now);
  EXPECT_FALSE(budget.Allows(kA, true, now));
  EXPECT_TRUE(budget.Allows(kA, false, now));
}

}  // namespace
}  // namespace shoal::coordinator
