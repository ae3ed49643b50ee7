// Time as a dependency. Nothing outside os/ asks the operating system what time
// it is; everything receives a Clock, so a test or the simulator decides.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "base/unique_function.h"

namespace shoal {

enum class TimerId : std::uint64_t {};

// One node's monotonic clock and its timers. Belongs to one event loop: all
// calls are made on it, and all tasks run on it.
class Clock {
 public:
  virtual ~Clock() = default;

  virtual Instant Now() const = 0;

  // Runs `task` once, at or after `at`, never inside this call, even if `at`
  // has passed. Timers due at the same time run in the order they were set.
  virtual TimerId CallAt(Instant at, UniqueFunction<void()> task) = 0;

  // After this call the task will not run. A timer that has run, or was
  // cancelled before, is ignored.
  virtual void Cancel(TimerId id) = 0;

  TimerId CallAfter(Duration delay, UniqueFunction<void()> task) {
    return CallAt(Now() + delay, std::move(task));
  }
};

}  // namespace shoal
