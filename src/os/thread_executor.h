// ThreadExecutor: base/executor.h with one compute thread of its own. A job that wants
// more cores uses the ThreadPool from there.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "base/executor.h"
#include "base/thread_annotations.h"
#include "base/unique_function.h"

namespace shoal::os {

// Made, used and destroyed on its event loop.
class ThreadExecutor final : public Executor {
 public:
  // Runs a task on the event loop, soon and in order; callable from any thread, and never
  // waits for the loop. It may drop tasks once the loop has stopped.
  using Post = std::function<void(UniqueFunction<void()>)>;

  explicit ThreadExecutor(Post post);

  // Waits for the job that is running; drops the others. No `done` runs from here on,
  // not even of jobs that have finished.
  ~ThreadExecutor() override;
  ThreadExecutor(const ThreadExecutor&) = delete;
  ThreadExecutor& operator=(const ThreadExecutor&) = delete;

  Status Submit(Job job) override SHOAL_EXCLUDES(mutex_);

 private:
  void ThreadMain() SHOAL_EXCLUDES(mutex_);
  // Waits for a job. False: the executor is being destroyed.
  bool TakeJob(Job& job) SHOAL_EXCLUDES(mutex_);

  const Post post_;
  // Shared with posted completions, which look at it on the loop: a weak one that has
  // expired means that this executor is gone.
  std::shared_ptr<void> alive_;

  Mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Job> waiting_ SHOAL_GUARDED_BY(mutex_);
  bool stop_ SHOAL_GUARDED_BY(mutex_) = false;

  std::thread thread_;  // Last: it uses everything above.
};

}  // namespace shoal::os
