#include "base/latch.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

using Seen = Latch::Seen;
constexpr Duration kSecond = std::chrono::seconds(1);
constexpr Duration kMinute = std::chrono::minutes(1);

TEST(LatchTest, BeginsAtOnceAndEndsAfterAWhile) {
  Latch latch(kMinute);
  EXPECT_FALSE(latch.on());
  latch.Update(Seen::kBegin, kSecond);
  EXPECT_TRUE(latch.on());
  latch.Update(Seen::kEnd, kMinute - kSecond);
  EXPECT_TRUE(latch.on());
  latch.Update(Seen::kNeither, kSecond);  // The while begins anew.
  latch.Update(Seen::kEnd, kMinute - kSecond);
  EXPECT_TRUE(latch.on());
  latch.Update(Seen::kEnd, kSecond);
  EXPECT_FALSE(latch.on());
}

TEST(LatchTest, WhatFlapsEveryOtherSecondIsOnAllTheTime) {
  Latch latch(10 * kSecond);
  for (int i = 0; i < 1000; ++i) {
    latch.Update(i % 2 == 0 ? Seen::kBegin : Seen::kEnd, kSecond);
    EXPECT_TRUE(latch.on());
  }
}

// Five minutes of each: what would be 144 changes in twelve hours.
TEST(LatchTest, WhatKeepsComingBackIsReleasedMoreAndMoreRarely) {
  Latch latch(kMinute);
  int changes = 0;
  for (int second = 0; second < 12 * 3600; ++second) {
    const bool before = latch.on();
    latch.Update(second / 300 % 2 == 0 ? Seen::kBegin : Seen::kEnd, kSecond);
    changes += before != latch.on() ? 1 : 0;
  }
  EXPECT_LE(changes, 8);
}

TEST(LatchTest, ForgetsAfterAnHourOfPeace) {
  Latch latch(kMinute);
  for (int i = 0; i < 8; ++i) {
    latch.Update(Seen::kBegin, kSecond);
    while (latch.on()) latch.Update(Seen::kEnd, kMinute);
  }
  latch.Update(Seen::kBegin, kSecond);
  latch.Update(Seen::kEnd, 31 * kMinute);
  EXPECT_TRUE(latch.on());
  latch.Update(Seen::kEnd, kMinute);
  EXPECT_FALSE(latch.on());
  latch.Update(Seen::kEnd, 60 * kMinute);
  latch.Update(Seen::kBegin, kSecond);
  latch.Update(Seen::kEnd, kMinute);
  EXPECT_FALSE(latch.on());
}

}  // namespace
}  // namespace shoal
