#include "os/duty_executor.h"

#include <chrono>
#include <thread>
#include <utility>

namespace shoal::os {

Status DutyExecutor::Submit(Job job) {
  job.run = [this, run = std::move(job.run)]() mutable {
    const double share = share_ * limit_.load(std::memory_order_relaxed);
    const auto begin = std::chrono::steady_clock::now();
    run();
    if (share < 1) {
      std::this_thread::sleep_for((std::chrono::steady_clock::now() - begin) * (1 / share - 1));
    }
  };
  return executor_.Submit(std::move(job));
}

}  // namespace shoal::os
