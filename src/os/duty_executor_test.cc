#include "os/duty_executor.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace shoal::os {
namespace {

// Runs jobs when told.
class HandExecutor final : public Executor {
 public:
  Status Submit(Job job) override {
    jobs_.push_back(std::move(job));
    return {};
  }
  // How long a job of 10 ms takes.
  double RunOne() {
    const auto begin = std::chrono::steady_clock::now();
    jobs_.back().run();
    jobs_.pop_back();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  std::vector<Job> jobs_;
};

Job TenMilliseconds() {
  return {.tag = {},
          .work = {},
          .run = [] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); },
          .done = {}};
}

TEST(DutyExecutorTest, TheLimitOfTheMomentCounts) {
  HandExecutor hand;
  DutyExecutor duty(hand, 0.5);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(duty.Submit(TenMilliseconds()).ok());
  EXPECT_GE(hand.RunOne(), 0.0199);
  duty.SetLimit(0.5);  // A quarter of the time.
  EXPECT_GE(hand.RunOne(), 0.0399);
  duty.SetLimit(1);
  EXPECT_GE(hand.RunOne(), 0.0199);
}

}  // namespace
}  // namespace shoal::os
