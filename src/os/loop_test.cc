#include "os/loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace shoal::os {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Loop, TimersRunInOrderOfTimeThenOfSetting) {
  Loop loop;
  std::vector<int> order;
  const Instant at = loop.Now() + milliseconds(5);
  loop.CallAt(at + milliseconds(1), [&] { order.push_back(4); });
  loop.CallAt(at, [&] { order.push_back(2); });
  loop.CallAt(at, [&] { order.push_back(3); });
  loop.CallAt(at - milliseconds(4), [&] { order.push_back(1); });
  ASSERT_TRUE(loop.RunUntil([&] { return order.size() == 4; }, seconds(30)));
  EXPECT_EQ(order, (std::vector{1, 2, 3, 4}));
}

TEST(Loop, TimersAreNotEarly) {
  Loop loop;
  const Instant at = loop.Now() + milliseconds(20);
  Instant ran_at;
  loop.CallAt(at, [&] { ran_at = loop.Now(); });
  ASSERT_TRUE(loop.RunUntil([&] { return ran_at != Instant(); }, seconds(30)));
  EXPECT_GE(ran_at, at);
}

TEST(Loop, ATimerInThePastRunsLaterNotInside) {
  Loop loop;
  bool ran = false;
  loop.CallAt(Instant(), [&] { ran = true; });
  EXPECT_FALSE(ran);
  EXPECT_TRUE(loop.RunUntil([&] { return ran; }, seconds(30)));
}

TEST(Loop, ACancelledTimerDoesNotRunEvenIfItIsDue) {
  Loop loop;
  bool ran = false;
  bool finished = false;
  TimerId second{};
  loop.CallAt(Instant(), [&] { loop.Cancel(second); });
  second = loop.CallAt(Instant(), [&] { ran = true; });
  const TimerId third = loop.CallAfter(milliseconds(10), [&] { finished = true; });
  ASSERT_TRUE(loop.RunUntil([&] { return finished; }, seconds(30)));
  EXPECT_FALSE(ran);
  loop.Cancel(third);  // Has run: ignored.
  loop.Cancel(second);
}

TEST(Loop, CancellingTheFirstTimerLeavesTheNext) {
  Loop loop;
  bool ran = false;
  const TimerId first = loop.CallAfter(milliseconds(1), [] {});
  loop.CallAfter(milliseconds(5), [&] { ran = true; });
  loop.Cancel(first);
  EXPECT_TRUE(loop.RunUntil([&] { return ran; }, seconds(30)));
}

TEST(Loop, TimersThatSetTimersDoNotStarveTasks) {
  Loop loop;
  bool stop = false;
  UniqueFunction<void()> again = [&] {
    if (!stop) loop.CallAt(Instant(), [&] { again(); });
  };
  again();
  loop.Post([&] { stop = true; });
  EXPECT_TRUE(loop.RunUntil([&] { return stop; }, seconds(30)));
}

TEST(Loop, NeverDoesNotCome) {
  Loop loop;
  bool ran = false;
  loop.CallAt(Instant::Never(), [&] { ran = true; });
  EXPECT_FALSE(loop.RunUntil([&] { return ran; }, milliseconds(20)));
}

TEST(Loop, OtherThreadsPostAndStop) {
  Loop loop;
  constexpr int kThreads = 4;
  constexpr int kTasks = 1000;
  std::vector<int> next(kThreads, 0);
  bool in_order = true;
  int finished = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kTasks; ++i) {
        loop.Post([&, t, i] { in_order = in_order && next[t]++ == i; });
      }
      loop.Post([&] {
        if (++finished == kThreads) loop.Stop();
      });
    });
  }
  loop.Run();
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(in_order);
  EXPECT_EQ(next, std::vector(kThreads, kTasks));
}

TEST(Loop, StopBeforeRunIsNotLost) {
  Loop loop;
  loop.Stop();
  loop.Run();
  bool ran = false;
  loop.Post([&] { ran = true; });
  EXPECT_TRUE(loop.RunUntil([&] { return ran; }, seconds(30)));
}

TEST(Loop, DropsWhatHasNotRun) {
  auto owned = std::make_shared<int>(1);
  {
    Loop loop;
    loop.Post([owned] {});
    loop.CallAfter(seconds(100), [owned] {});
  }
  EXPECT_EQ(owned.use_count(), 1);
}

}  // namespace
}  // namespace shoal::os
