// EventQueue: virtual time. Everything that will happen in a World, earliest first,
// what happens at the same time in the order it was pushed. That order is total, so a
// run depends on nothing but what was pushed.
//
// Events are plain values of 32 bytes inside a four-way heap: tasks, frames and jobs
// stay with whom they belong to, and the event only names them. An event whose subject
// is gone (a cancelled timer, a broken connection) is not searched for: it is
// recognised by its stamp when its time comes, or swept when there are many.
//
// Belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace shoal::sim {

// Who handles it, and what `subject`, `stamp` and `detail` then mean.
enum class EventKind : std::uint8_t {
  kTimer,         // SimClock: slot, generation, -.
  kJobDone,       // SimExecutor: -, process, -.
  kDial,          // Links: link, connection, -. A dial reaches `node`.
  kAnswer,        // Links: link, connection, -. The answer to a dial reaches the dialler.
  kDialFailed,    // Links: link, connection, Code.
  kDialDeadline,  // Links: link, connection, -.
  kFrame,         // Links: link, connection, Traffic. The first frame of a lane arrives.
  kWritable,      // Links: link, connection, Traffic.
  kReset,         // Links: link, connection, -. The other end has closed.
  kSilence,       // Links: link, silence, -. Nothing was heard for the whole limit.
  kFault,         // FaultDriver: -, -, FaultKind. Something breaks.
  kRepair,        // FaultDriver: whom it hit, -, FaultKind. It is over.
};

// A node's place in its World, in the order of first mention.
using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kNoNode = 0xffffffff;

struct Event {
  Duration at{0};        // Since the world began.
  std::uint64_t id = 0;  // Given by Push: breaks ties in the order of insertion.
  NodeIndex node = kNoNode;
  std::uint32_t subject = 0;
  std::uint32_t stamp = 0;
  EventKind kind = EventKind::kTimer;
  std::uint8_t detail = 0;
  std::uint8_t end = 0;  // Which end of the link `node` is; Links only.
};
static_assert(sizeof(Event) == 32, "two events a cache line: the heap moves them all the time");

class EventQueue {
 public:
  // The time of the latest event popped, or what AdvanceTo has set.
  Duration now() const { return now_; }
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }

  // An event in the past happens now, after what is already due now.
  void Push(Event event);

  // The next event without taking it. REQUIRES: !empty().
  const Event& Top() const { return heap_.front(); }
  // Takes the next event and moves time to it. REQUIRES: !empty().
  Event Pop();

  // Lets time pass without events. REQUIRES: no event is due before `at`.
  void AdvanceTo(Duration at);

  // An event in the queue has lost its subject / a lost one has been popped.
  void NoteStale(std::size_t count) { stale_ += count; }
  void ForgetStale() { stale_ -= stale_ > 0 ? 1 : 0; }
  // More than half of the queue is stale: sweeping now costs less than popping all of
  // it later, and bounds the memory of timers that are set far ahead and cancelled.
  bool WantsSweep() const { return stale_ > kStaleMin && stale_ * 2 > heap_.size(); }
  // Removes every event for which `is_stale` holds. Does not change the order of others.
  template <class IsStale>
  void Sweep(IsStale is_stale) {
    std::erase_if(heap_, is_stale);
    stale_ = 0;
    Rebuild();
  }

 private:
  static constexpr std::size_t kWays = 4;  // Children of one entry: four are two cache lines.
  static constexpr std::size_t kStaleMin = 4096;  // 128 KiB: not worth a sweep below it.

  static bool Before(const Event& a, const Event& b) {
    return a.at != b.at ? a.at < b.at : a.id < b.id;
  }
  void SiftDown(std::size_t hole, const Event& event);
  void Rebuild();

  Duration now_{0};
  std::uint64_t next_id_ = 1;
  std::size_t stale_ = 0;
  std::vector<Event> heap_;
};

}  // namespace shoal::sim
