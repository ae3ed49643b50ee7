// Goal: base/executor.h holds, and jobs take the time that the phone's model says.
#include "sim/sim_executor.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace shoal::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr PhoneModel kPhone = {.operations_per_second = 1e9, .bytes_per_second = 1e8};

class SimExecutorTest : public testing::Test {
 protected:
  SimExecutorTest() { executor_.Start(); }

  Status Submit(std::uint64_t step, Work work) {
    return executor_.Submit({.tag = {.step = step, .epoch = 9},
                             .work = work,
                             .run = [this] { ++runs_; },
                             .done =
                                 [this](JobTag tag) {
                                   EXPECT_EQ(tag.epoch, 9U);
                                   done_.emplace_back(tag.step, queue_.now());
                                 }});
  }
  void RunAll() {
    while (queue_.Peek() != nullptr) {
      const Event event = queue_.Pop();
      if (executor_.IsCurrent(event)) executor_.Finish();
    }
  }

  EventQueue queue_;
  SimExecutor executor_{queue_, 0, kPhone};
  int runs_ = 0;
  std::vector<std::pair<std::uint64_t, Duration>> done_;
};

TEST_F(SimExecutorTest, JobsAreDoneOneAfterTheOtherWhenTheModelSaysSo) {
  ASSERT_TRUE(Submit(1, {.operations = 2e9, .bytes_moved = 0}).ok());    // 2 s of computing.
  ASSERT_TRUE(Submit(2, {.operations = 1e6, .bytes_moved = 5e7}).ok());  // 0.5 s of moving.
  EXPECT_TRUE(done_.empty());
  EXPECT_EQ(runs_, 2);
  RunAll();
  using Done = std::pair<std::uint64_t, Duration>;
  EXPECT_EQ(done_, (std::vector<Done>{{1, seconds(2)}, {2, milliseconds(2500)}}));
}

TEST_F(SimExecutorTest, ASlowPhoneTakesLonger) {
  executor_.SetSlowdown(3);
  ASSERT_TRUE(Submit(1, {.operations = 1e9, .bytes_moved = 0}).ok());
  RunAll();
  EXPECT_EQ(done_.at(0).second, seconds(3));
}

TEST_F(SimExecutorTest, TooManyWaitingJobsAreRefused) {
  for (std::size_t i = 0; i <= Executor::kQueuedJobsMax; ++i) ASSERT_TRUE(Submit(i, {}).ok());
  EXPECT_EQ(Submit(0, {}).code(), Code::kResourceExhausted);
  RunAll();
  EXPECT_EQ(done_.size(), Executor::kQueuedJobsMax + 1);
  EXPECT_TRUE(Submit(0, {}).ok());
}

TEST_F(SimExecutorTest, JobsOfADeadProcessAreNeverDone) {
  ASSERT_TRUE(Submit(1, {.operations = 1e9, .bytes_moved = 0}).ok());
  executor_.DropAll();
  EXPECT_EQ(Submit(2, {}).code(), Code::kUnavailable);
  executor_.Start();
  ASSERT_TRUE(Submit(3, {.operations = 3e9, .bytes_moved = 0}).ok());
  RunAll();
  ASSERT_EQ(done_.size(), 1U);
  EXPECT_EQ(done_[0].first, 3U);
  EXPECT_EQ(done_[0].second, seconds(3));
}

TEST(ModelledTimeTest, AbsurdWorkTakesAYearAndNoWorkTakesNoTime) {
  const Duration year = std::chrono::hours(24 * 365);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(ModelledTime(kPhone, {.operations = kInfinity, .bytes_moved = 0}, 1), year);
  EXPECT_EQ(ModelledTime(kPhone, {.operations = kInfinity * 0, .bytes_moved = 0}, 1), year);
  EXPECT_EQ(ModelledTime(kPhone, {.operations = -1, .bytes_moved = -1}, 1), Duration(0));
}

}  // namespace
}  // namespace shoal::sim
