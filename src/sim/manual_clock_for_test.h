// ManualClock: a clock that a test moves.
#pragma once

#include "base/clock.h"
#include "sim/event_queue.h"
#include "sim/sim_clock.h"

namespace shoal::sim {

class ManualClock {
 public:
  Clock& clock() { return clock_; }

  // Lets time pass; what falls due runs.
  void Pass(Duration time) {
    const Duration end = queue_.now() + time;
    while (queue_.Peek() != nullptr && queue_.Peek()->at <= end) {
      const Event event = queue_.Pop();
      if (clock_.IsPending(event)) clock_.Fire(event);
    }
    queue_.AdvanceTo(end);
  }

 private:
  EventQueue queue_;
  SimClock clock_{queue_, 0, {}};
};

}  // namespace shoal::sim
