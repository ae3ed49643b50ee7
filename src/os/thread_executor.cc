#include "os/thread_executor.h"

#include <utility>

#include "base/check.h"

namespace shoal::os {

ThreadExecutor::ThreadExecutor(Post post)
    : post_(std::move(post)), alive_(std::make_shared<char>()), thread_([this] { ThreadMain(); }) {}

ThreadExecutor::~ThreadExecutor() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

Status ThreadExecutor::Submit(Job job) {
  SHOAL_CHECK(job.run && job.done);
  {
    MutexLock lock(mutex_);
    if (waiting_.size() >= kQueuedJobsMax) {
      return Status(Code::kResourceExhausted, "too many jobs are waiting for the compute thread");
    }
    waiting_.push_back(std::move(job));
  }
  wake_.notify_one();
  return {};
}

void ThreadExecutor::ThreadMain() {
  Job job;
  while (TakeJob(job)) {
    job.run();
    job.run = {};  // Frees the job's inputs here, not on the loop.
    post_(
        [alive = std::weak_ptr<void>(alive_), tag = job.tag, done = std::move(job.done)]() mutable {
          if (!alive.expired()) done(tag);
        });
  }
}

bool ThreadExecutor::TakeJob(Job& job) {
  MutexLock lock(mutex_);
  while (waiting_.empty() && !stop_) wake_.wait(mutex_);
  if (stop_) return false;
  job = std::move(waiting_.front());
  waiting_.pop_front();
  return true;
}

}  // namespace shoal::os
