// Goal: who looks at a device reads what is new, and a line that comes for ever fills no disk.
#include "agent/news.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/manual_clock_for_test.h"

namespace shoal::agent {
namespace {

class NewsTest : public testing::Test {
 protected:
  sim::ManualClock time_;
  std::vector<std::string> said_;
  News news_{time_.clock(), [this](const std::string& line) { said_.push_back(line); }};
};

TEST_F(NewsTest, ALineIsSaidAFewTimesAMinute) {
  for (int i = 0; i < 10; ++i) news_.Say("connected");
  EXPECT_EQ(said_.size(), News::kRepeatsMax);
  news_.Say("no link");
  EXPECT_EQ(said_.back(), "no link");
  time_.Pass(News::kWindow);
  news_.Say("connected");
  EXPECT_EQ(said_.back(), "connected");
}

TEST_F(NewsTest, ManyDifferentLinesEndToo) {
  for (int i = 0; i < 1000; ++i) news_.Say(std::to_string(i));
  EXPECT_EQ(said_.size(), News::kLinesMax);
}

TEST_F(NewsTest, NobodyNeedListen) {
  News silent(time_.clock(), {});
  silent.Say("connected");
}

}  // namespace
}  // namespace shoal::agent
