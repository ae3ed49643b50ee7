#include "base/work_rules.h"

#include <gtest/gtest.h>

#include <cmath>

namespace shoal {
namespace {

TEST(DayHoursTest, MayCrossMidnight) {
  const DayHours night = *ParseDayHours("22-7");
  EXPECT_EQ(night, (DayHours{22 * 60, 7 * 60}));
  for (const int in : {22 * 60, 23 * 60 + 59, 0, 6 * 60 + 59}) EXPECT_TRUE(night.Contains(in));
  for (const int out : {7 * 60, 12 * 60, 21 * 60 + 59}) EXPECT_FALSE(night.Contains(out));
  const DayHours day = *ParseDayHours("8:30-17");
  EXPECT_TRUE(day.Contains(8 * 60 + 30));
  EXPECT_FALSE(day.Contains(8 * 60 + 29));
  EXPECT_FALSE(day.Contains(17 * 60));
}

TEST(DayHoursTest, ReadsWhatItWrites) {
  for (const char* text : {"22-7", "8:30-17:05", "always", "0-24", "23:59-0"}) {
    const Result<DayHours> hours = ParseDayHours(text);
    ASSERT_TRUE(hours.ok()) << text;
    EXPECT_EQ(hours->ToString(), text);
  }
  EXPECT_EQ(ParseDayHours("07-09:00")->ToString(), "7-9");
  EXPECT_TRUE(ParseDayHours("0-24")->Contains(0));
  EXPECT_TRUE(DayHours{}.Contains(720));
}

TEST(DayHoursTest, SaysHowHoursAreWritten) {
  for (const char* text :
       {"", "-", "7", "7-", "-7", "7-7", "0-0", "24-7", "22-25", "22-7:60", "a-b", "22 - 7",
        "1-2-3", "-1-5", "007-8", "7:-8", "7:1:1-8", "Always"}) {
    const Result<DayHours> hours = ParseDayHours(text);
    ASSERT_FALSE(hours.ok()) << text;
    EXPECT_NE(hours.status().message().find("22-7"), std::string::npos);
  }
}

TEST(WorkRulesTest, NumbersHaveRanges) {
  EXPECT_TRUE(CheckWorkRules({}).ok());
  EXPECT_TRUE(CheckWorkRules({.duty = 0.5, .only_charging = true, .floor = 0}).ok());
  for (const double duty : {0.0, -1.0, 1.5, std::nan("")}) {
    EXPECT_FALSE(CheckWorkRules({.duty = duty}).ok());
  }
  for (const double floor : {-0.1, 0.95, std::nan("")}) {
    EXPECT_FALSE(CheckWorkRules({.floor = floor}).ok());
  }
}

}  // namespace
}  // namespace shoal
