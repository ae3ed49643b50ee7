// Goal: every second of a pause is in exactly one of its three parts.
#include "coordinator/pause_log.h"

#include <gtest/gtest.h>

#include <chrono>

namespace shoal::coordinator {
namespace {

using std::chrono::milliseconds;

constexpr Instant At(int ms) { return {milliseconds(ms)}; }

TEST(PauseLogTest, APauseHasThreeParts) {
  PauseLog log;
  log.Stopped(At(1000), At(1920));
  log.Resumed(At(2020));
  const std::optional<Pause> pause = log.Drawn(At(2210));
  ASSERT_TRUE(pause);
  EXPECT_EQ(pause->detect, milliseconds(920));
  EXPECT_EQ(pause->load, milliseconds(100));
  EXPECT_EQ(pause->replay, milliseconds(190));
  EXPECT_EQ(pause->ToString(),
            "answers went on after 1.21 s: noticed after 0.92, layers there after 0.10, "
            "replayed in 0.19");
}

TEST(PauseLogTest, OnlyTheFirstTokenEndsIt) {
  PauseLog log;
  EXPECT_FALSE(log.Drawn(At(1)));
  log.Stopped(At(10), At(20));
  log.Resumed(At(30));
  EXPECT_TRUE(log.Drawn(At(40)));
  EXPECT_FALSE(log.Drawn(At(50)));
}

// Drawn before the stop, told after it: not yet what the answers wait for.
TEST(PauseLogTest, ATokenBeforeTheNewEpochDoesNotEndIt) {
  PauseLog log;
  log.Stopped(At(10), At(20));
  EXPECT_FALSE(log.Drawn(At(21)));
  log.Resumed(At(30));
  EXPECT_TRUE(log.Drawn(At(40)));
}

TEST(PauseLogTest, AnEpochThatBreaksBeforeItsFirstTokenIsPartOfTheSamePause) {
  PauseLog log;
  log.Stopped(At(1000), At(1100));
  log.Resumed(At(1200));
  log.Stopped(At(1200), At(1500));
  EXPECT_FALSE(log.Drawn(At(1501)));
  log.Resumed(At(1600));
  const std::optional<Pause> pause = log.Drawn(At(1650));
  ASSERT_TRUE(pause);
  EXPECT_EQ(pause->detect, milliseconds(100));
  EXPECT_EQ(pause->load, milliseconds(500));
  EXPECT_EQ(pause->replay, milliseconds(50));
}

TEST(PauseLogTest, APauseThatNobodyWaitedForIsNone) {
  PauseLog log;
  log.Stopped(At(10), At(20));
  log.Forget();
  log.Resumed(At(30));
  EXPECT_FALSE(log.Drawn(At(40)));
}

}  // namespace
}  // namespace shoal::coordinator
