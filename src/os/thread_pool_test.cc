#include "os/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "os/machine/affinity.h"

namespace shoal::os {
namespace {

PoolPlan Spinning(std::size_t threads) { return {.threads = threads, .cores = {}, .spin = true}; }
PoolPlan Sleeping(std::size_t threads) { return {.threads = threads, .cores = {}, .spin = false}; }

class ThreadPoolTest : public testing::TestWithParam<PoolPlan> {};

INSTANTIATE_TEST_SUITE_P(Plans, ThreadPoolTest,
                         testing::Values(Spinning(1), Spinning(2), Spinning(4), Sleeping(2),
                                         Sleeping(7)),
                         [](const auto& param) {
                           return (param.param.spin ? "Spinning" : "Sleeping") +
                                  std::to_string(param.param.threads);
                         });

TEST_P(ThreadPoolTest, RunsEachTaskOnce) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.workers(), GetParam().threads);
  for (const std::size_t count : {0U, 1U, 2U, 3U, 15U, 16U, 17U, 33U, 1000U, 12'345U}) {
    std::vector<std::atomic<int>> runs(count);
    pool.Run(count, [&](std::size_t task, std::size_t worker) {
      ASSERT_LT(worker, pool.workers());
      runs[task].fetch_add(1, std::memory_order_relaxed);
    });
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(runs[i], 1) << i << " of " << count;
  }
}

// Plain variables: the thread sanitizer sees a missing barrier, other builds a lost value.
TEST_P(ThreadPoolTest, EverythingWrittenIsVisibleAfterRunAndBeforeTasks) {
  ThreadPool pool(GetParam());
  std::vector<int> values(64, 0);
  for (int round = 1; round <= 3000; ++round) {
    for (int& value : values) ++value;  // By the caller, seen by the tasks …
    pool.Run(values.size(), [&](std::size_t task, std::size_t) { values[task] *= -1; });
    for (int& value : values) {
      ASSERT_EQ(value, -round);  // … whose writes are seen by the caller.
      value = round;
    }
  }
}

TEST_P(ThreadPoolTest, AWorkerIndexIsOneThreadAtATime) {
  ThreadPool pool(GetParam());
  std::vector<std::size_t> sums(pool.workers(), 0);  // Per worker, without atomics.
  for (int round = 0; round < 200; ++round) {
    pool.Run(100, [&](std::size_t task, std::size_t worker) { sums[worker] += task; });
  }
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), std::size_t{0}), 200U * 4950);
}

TEST_P(ThreadPoolTest, SeveralCallersTakeTurns) {
  ThreadPool pool(GetParam());
  // Without atomics: two callers at once would both be worker 0.
  std::vector<int> runs(pool.workers(), 0);
  const auto call = [&] {
    for (int round = 0; round < 300; ++round) {
      pool.Run(8, [&](std::size_t, std::size_t worker) { ++runs[worker]; });
    }
  };
  std::thread first(call);
  std::thread second(call);
  first.join();
  second.join();
  EXPECT_EQ(std::accumulate(runs.begin(), runs.end(), 0), 2 * 300 * 8);
}

// Each task waits for as many as there are threads (two at most): if one did not come,
// this would never end.
TEST_P(ThreadPoolTest, TasksRunAtTheSameTime) {
  ThreadPool pool(GetParam());
  const std::size_t together = std::min<std::size_t>(2, pool.workers());
  for (int round = 0; round < 20; ++round) {
    // Long enough to fall asleep in every second round.
    if (round % 2 == 1) std::this_thread::sleep_for(2 * ThreadPool::kSpin);
    std::atomic<std::size_t> arrived{0};
    pool.Run(2, [&](std::size_t, std::size_t) {
      arrived.fetch_add(1);
      while (arrived.load() < together) std::this_thread::yield();
    });
  }
}

TEST_P(ThreadPoolTest, StartsAndStopsWithoutWork) {
  for (int i = 0; i < 50; ++i) ThreadPool pool(GetParam());
  for (int i = 0; i < 50; ++i) {
    ThreadPool pool(GetParam());
    pool.Run(2, [](std::size_t, std::size_t) {});
  }
}

TEST(ThreadPoolPinTest, PinsCallerAndWorkersToTheirCores) {
  const std::vector<int> allowed = *AllowedCpus();
  if (allowed.size() < 2) GTEST_SKIP() << "one core";
  ThreadPool pool({.threads = 2, .cores = {allowed[1], allowed[0]}, .spin = true});
  std::thread([&] {
    pool.PinCaller();
    std::vector<std::vector<int>> cores(2);
    std::atomic<int> arrived{0};
    pool.Run(2, [&](std::size_t, std::size_t worker) {
      cores[worker] = *AllowedCpus();
      arrived.fetch_add(1);
      while (arrived.load() < 2) std::this_thread::yield();
    });
    EXPECT_EQ(cores[0], std::vector<int>{allowed[1]});
    EXPECT_EQ(cores[1], std::vector<int>{allowed[0]});
  }).join();
  EXPECT_EQ(*AllowedCpus(), allowed) << "the test's own thread was pinned";
}

TEST(ThreadPoolPinTest, ACoreThatIsNotThereIsNoFailure) {
  ThreadPool pool({.threads = 2, .cores = {4000, 4001}, .spin = false});
  std::atomic<int> ran{0};
  pool.Run(10, [&](std::size_t, std::size_t) { ++ran; });
  EXPECT_EQ(ran, 10);
}

TEST(ThreadPoolDeathTest, ARunInsideATaskIsABug) {
  EXPECT_DEATH(
      {
        ThreadPool pool(Sleeping(2));
        pool.Run(4,
                 [&](std::size_t, std::size_t) { pool.Run(1, [](std::size_t, std::size_t) {}); });
      },
      "check failed");
}

}  // namespace
}  // namespace shoal::os
