// DutyExecutor: an executor that works only part of the time, for people who want their phone to
// stay cool, for heads that spare a battery, and for trials: one of several equal machines becomes
// a slow one.
#pragma once

#include <atomic>

#include "base/executor.h"

namespace shoal::os {

class DutyExecutor final : public Executor {
 public:
  // Rests after every job, on the thread that computes, so that it computes `share` of the time.
  // `executor` outlives it, and it outlives its jobs. REQUIRES: 0 < share <= 1.
  DutyExecutor(Executor& executor, double share) : executor_(executor), share_(share) {}

  Status Submit(Job job) override;

  // Jobs that begin from now on may use this part of the share. Thread-safe.
  // REQUIRES: 0 < limit <= 1.
  void SetLimit(double limit) { limit_.store(limit, std::memory_order_relaxed); }

 private:
  Executor& executor_;
  const double share_;
  std::atomic<double> limit_ = 1;
};

}  // namespace shoal::os
