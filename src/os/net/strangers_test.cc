#include <gtest/gtest.h>

#include <vector>

#include "os/net/strangers_internal.h"

namespace shoal::os {
namespace {

struct HandClock final : Clock {
  Instant Now() const override { return now; }
  TimerId CallAt(Instant /*at*/, UniqueFunction<void()> /*task*/) override { return {}; }
  void Cancel(TimerId /*id*/) override {}
  Instant now{};
};

struct StrangersTest : testing::Test {
  HandClock clock;
  std::vector<std::string> lines;
  Strangers strangers{clock, "door", [this](const std::string& line) { lines.push_back(line); }};
};

TEST_F(StrangersTest, EachIsLoggedOnceAMinute) {
  for (int i = 0; i < 5; ++i) strangers.Refuse("10.0.0.1", "why");
  strangers.Refuse("10.0.0.2", "why");
  EXPECT_EQ(lines, (std::vector<std::string>{"door: refused 10.0.0.1: why",
                                             "door: refused 10.0.0.2: why"}));
  clock.now = clock.now + Strangers::kWindow;
  strangers.Refuse("10.0.0.1", "why");
  strangers.Refuse("10.0.0.2", "why");
  EXPECT_EQ(lines[2], "door: refused 10.0.0.1: why (and 4 times before, not logged)");
  EXPECT_EQ(lines[3], "door: refused 10.0.0.2: why");
}

TEST_F(StrangersTest, RefusalsAreForgottenAfterAMinute) {
  for (int i = 0; i < 5; ++i) strangers.Refuse("10.0.0.1", "why");
  EXPECT_EQ(strangers.Refusals("10.0.0.1"), 5U);
  EXPECT_EQ(strangers.Refusals("10.0.0.2"), 0U);
  clock.now = clock.now + Strangers::kWindow;
  EXPECT_EQ(strangers.Refusals("10.0.0.1"), 0U);
}

TEST_F(StrangersTest, ManyAddressesFillNeitherMemoryNorLog) {
  for (std::size_t i = 0; i < 10 * Strangers::kAddressesMax; ++i) {
    strangers.Refuse("address " + std::to_string(i), "why");
  }
  EXPECT_EQ(lines.size(), Strangers::kAddressesMax + 1);
  EXPECT_EQ(lines.back(), "door: refused many addresses: why");
  clock.now = clock.now + Strangers::kWindow;
  strangers.Refuse("10.0.0.1", "why");
  EXPECT_EQ(lines.back(), "door: refused 10.0.0.1: why");
}

}  // namespace
}  // namespace shoal::os
