#include "sim/sim_executor.h"

#include <utility>

#include "base/check.h"

namespace shoal::sim {

Status SimExecutor::Submit(Job job) {
  if (!running_) return {Code::kUnavailable, "the process is dead"};
  if (waiting_.size() > kQueuedJobsMax) {  // One is being computed, the others wait.
    return {Code::kResourceExhausted, "too many jobs are waiting"};
  }
  if (job.run) job.run();
  waiting_.push_back({job.tag, job.work, std::move(job.done)});
  if (waiting_.size() == 1) StartFirst();
  return {};
}

void SimExecutor::StartFirst() {
  queue_.Push({.at = queue_.now() + ModelledTime(phone_, waiting_.front().work, slowdown_),
               .node = node_,
               .stamp = process_,
               .kind = EventKind::kJobDone});
}

void SimExecutor::Finish() {
  SHOAL_CHECK(!waiting_.empty());
  Waiting first = std::move(waiting_.front());
  waiting_.erase(waiting_.begin());
  if (!waiting_.empty()) StartFirst();
  if (first.done) first.done(first.tag);
}

void SimExecutor::DropAll() {
  running_ = false;
  ++process_;
  waiting_.clear();
}

}  // namespace shoal::sim
