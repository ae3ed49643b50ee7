// SimClock: the clock of one phone in a World. It has its own origin and its own rate,
// and timers follow it: on a phone whose clock is fast, ten seconds are over early.
// Belongs to one World.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "sim/event_queue.h"

namespace shoal::sim {

// How a phone's clock is wrong.
struct ClockError {
  Duration origin{0};              // What it shows when the world begins.
  std::int64_t drift_per_1e9 = 0;  // Nanoseconds it gains in a second; above -10^9.
};

class SimClock final : public Clock {
 public:
  // `queue` outlives the clock. Timers are events of `node`.
  SimClock(EventQueue& queue, NodeIndex node, const ClockError& error)
      : queue_(queue), node_(node), error_(error) {}

  Instant Now() const override { return ToLocal(queue_.now()); }
  TimerId CallAt(Instant at, UniqueFunction<void()> task) override;
  void Cancel(TimerId id) override;

  // Whether the timer of this event has not run and was not cancelled.
  bool IsPending(const Event& event) const;
  // Runs its task. REQUIRES: IsPending(event).
  void Fire(const Event& event);
  // The process died: no task that was set will run, and all are destroyed.
  void DropAll();

 private:
  struct Timer {
    UniqueFunction<void()> task;
    std::uint32_t generation = 1;        // Of the slot; a TimerId names both.
    std::uint32_t next_free = kPending;  // Of the list of free slots.
  };
  static constexpr std::uint32_t kPending = 0xffffffff;  // Not in the list.
  static constexpr std::uint32_t kNoSlot = 0xfffffffe;   // The end of the list.

  Instant ToLocal(Duration world) const;
  // The first moment at which this clock shows `local` or more.
  Duration ToWorld(Instant local) const;
  std::uint32_t Allocate();
  UniqueFunction<void()> Release(std::uint32_t slot);

  EventQueue& queue_;
  const NodeIndex node_;
  const ClockError error_;
  std::vector<Timer> timers_;
  std::uint32_t first_free_ = kNoSlot;
};

}  // namespace shoal::sim
