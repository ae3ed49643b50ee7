#include "os/thread_executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace shoal::os {
namespace {

// An event loop that runs what was posted when the test says so.
class ManualLoop {
 public:
  ThreadExecutor::Post post() {
    return [this](UniqueFunction<void()> task) {
      MutexLock lock(mutex_);
      tasks_.push_back(std::move(task));
      posted_.notify_all();
    };
  }

  // Waits until a task was posted, and runs it.
  void RunOne() {
    UniqueFunction<void()> task;
    {
      MutexLock lock(mutex_);
      while (tasks_.empty()) posted_.wait(mutex_);
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }

  std::size_t waiting() {
    MutexLock lock(mutex_);
    return tasks_.size();
  }

 private:
  Mutex mutex_;
  std::condition_variable_any posted_;
  std::deque<UniqueFunction<void()>> tasks_ SHOAL_GUARDED_BY(mutex_);
};

Job MakeJob(std::uint64_t step, UniqueFunction<void()> run, UniqueFunction<void(JobTag)> done) {
  return {.tag = {.step = step, .epoch = 9},
          .work = {},
          .run = std::move(run),
          .done = std::move(done)};
}

TEST(ThreadExecutorTest, RunsJobsAndCompletionsInOrder) {
  ManualLoop loop;
  ThreadExecutor executor(loop.post());
  std::vector<std::uint64_t> ran;  // Touched by the compute thread until its completion.
  std::vector<std::uint64_t> completed;
  for (std::uint64_t step = 0; step < 100; ++step) {
    ASSERT_TRUE(executor
                    .Submit(MakeJob(
                        step, [&ran, step] { ran.push_back(step); },
                        [&](JobTag tag) {
                          EXPECT_EQ(tag.epoch, 9U);
                          completed.push_back(tag.step);
                        }))
                    .ok());
  }
  EXPECT_TRUE(completed.empty()) << "a completion came inside Submit";
  for (int i = 0; i < 100; ++i) loop.RunOne();
  EXPECT_EQ(ran, completed);
  EXPECT_EQ(completed.size(), 100U);
  EXPECT_TRUE(std::is_sorted(completed.begin(), completed.end()));
}

TEST(ThreadExecutorTest, RunsOffTheLoopAndCompletesOnIt) {
  ManualLoop loop;
  ThreadExecutor executor(loop.post());
  std::thread::id ran_on;
  std::thread::id completed_on;
  ASSERT_TRUE(executor
                  .Submit(MakeJob(
                      1, [&] { ran_on = std::this_thread::get_id(); },
                      [&](JobTag) { completed_on = std::this_thread::get_id(); }))
                  .ok());
  loop.RunOne();
  EXPECT_NE(ran_on, std::this_thread::get_id());
  EXPECT_EQ(completed_on, std::this_thread::get_id());
}

TEST(ThreadExecutorTest, RefusesMoreWaitingJobsThanItsLimit) {
  ManualLoop loop;
  ThreadExecutor executor(loop.post());
  std::promise<void> started;
  std::promise<void> release;
  ASSERT_TRUE(executor
                  .Submit(MakeJob(
                      0,
                      [&] {
                        started.set_value();
                        release.get_future().wait();
                      },
                      [](JobTag) {}))
                  .ok());
  started.get_future().wait();  // From here on it is running, not waiting.
  for (std::size_t i = 0; i < Executor::kQueuedJobsMax; ++i) {
    ASSERT_TRUE(executor
                    .Submit(MakeJob(
                        i, [] {}, [](JobTag) {}))
                    .ok())
        << i;
  }
  EXPECT_EQ(executor
                .Submit(MakeJob(
                    0, [] {}, [](JobTag) {}))
                .code(),
            Code::kResourceExhausted);
  release.set_value();
  loop.RunOne();  // The running job has completed; the next one leaves the queue soon.
  loop.RunOne();
  EXPECT_TRUE(executor
                  .Submit(MakeJob(
                      0, [] {}, [](JobTag) {}))
                  .ok());
}

TEST(ThreadExecutorTest, DestructionFinishesTheRunningJobAndDropsTheRest) {
  constexpr int kJobs = 1000;  // A second of work, far more than destruction gives time for.
  ManualLoop loop;
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  int completed = 0;
  const auto input = std::make_shared<int>(0);
  {
    ThreadExecutor executor(loop.post());
    const auto run = [&begun, &ended, input] {
      ++begun;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++ended;
    };
    for (int i = 0; i < kJobs; ++i) {
      ASSERT_TRUE(executor.Submit(MakeJob(0, run, [&](JobTag) { ++completed; })).ok());
    }
  }
  EXPECT_EQ(begun, ended) << "a job was cut off";
  EXPECT_LT(ended, kJobs) << "waiting jobs were not dropped";
  EXPECT_EQ(input.use_count(), 1) << "a dropped job kept its inputs";
  while (loop.waiting() > 0) loop.RunOne();
  EXPECT_EQ(completed, 0) << "a completion ran after the executor was gone";
}

TEST(ThreadExecutorTest, AJobsInputsAreFreedBeforeItsCompletion) {
  ManualLoop loop;
  ThreadExecutor executor(loop.post());
  auto input = std::make_shared<int>(0);
  const std::weak_ptr<int> watch = input;
  bool freed = false;
  ASSERT_TRUE(executor
                  .Submit(MakeJob(
                      0, [input = std::move(input)] { ++*input; },
                      [&](JobTag) { freed = watch.expired(); }))
                  .ok());
  loop.RunOne();
  EXPECT_TRUE(freed);
}

}  // namespace
}  // namespace shoal::os
