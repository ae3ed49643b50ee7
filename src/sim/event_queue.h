// EventQueue: virtual time. Everything that will happen in a World, earliest first,
// what happens at the same time in the order it was pushed. That order is total, so a
// run depends on nothing but what was pushed.
//
// A calendar: the next four seconds are cut into slots of a millisecond, in which events
// lie as they come; only the slot of the present is put in order, in a heap that fits
// the first-level cache, and only what is further away waits in a large one. With 10,000
// nodes this takes a third of the time that one heap takes.
//
// An event whose subject is gone (a cancelled timer, a broken connection) is not searched
// for: it is recognised by its stamp when its time comes, or swept when there are many.
//
// Belongs to one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "sim/event_heap.h"

namespace shoal::sim {

class EventQueue {
 public:
  // The time of the latest event popped, or what AdvanceTo has set.
  Duration now() const { return now_; }
  std::size_t size() const { return size_; }

  // Gives the event its id. One in the past happens now, after what is already due now.
  void Push(Event event);

  // The next event without taking it; nullptr if there is none. Valid until the next call.
  const Event* Peek();
  // Takes the next event and moves time to it. REQUIRES: there is one.
  Event Pop();

  // Lets time pass without events. REQUIRES: no event is due before `at`.
  void AdvanceTo(Duration at);

  // Events in the queue have lost their subject / a lost one has been popped.
  void NoteStale(std::size_t count) { stale_ += count; }
  void ForgetStale() { stale_ -= stale_ > 0 ? 1 : 0; }
  // More than half of the queue is stale: sweeping now costs less than popping all of
  // it later, and bounds the memory of timers that are set far ahead and cancelled.
  bool WantsSweep() const { return stale_ > kStaleMin && stale_ * 2 > size_; }
  // Removes every event for which `is_stale` holds. Does not change the order of others.
  template <class IsStale>
  void Sweep(IsStale is_stale) {
    present_.RemoveIf(is_stale);
    far_.RemoveIf(is_stale);
    size_ = present_.size() + far_.size();
    for (std::vector<Event>& slot : slots_) {
      std::erase_if(slot, is_stale);
      size_ += slot.size();
    }
    stale_ = 0;
  }

 private:
  static constexpr int kSlotBits = 20;            // A slot is 2^20 ns: just above a millisecond.
  static constexpr std::int64_t kSlots = 4096;    // 4.3 s: heartbeats and their deadlines.
  static constexpr std::size_t kStaleMin = 4096;  // 128 KiB: not worth a sweep below it.

  static std::int64_t TickOf(const Event& event) { return event.at.count() >> kSlotBits; }
  static std::size_t SlotOf(std::int64_t tick) { return static_cast<std::size_t>(tick % kSlots); }
  void Place(const Event& event);
  // Makes the next tick that has events the present. False: there is none.
  bool TurnPage();
  // The next tick after the present whose slot may have events, or that of a whole turn.
  std::int64_t NextOccupied() const;

  Duration now_{0};
  std::uint64_t next_id_ = 1;
  std::size_t size_ = 0;
  std::size_t stale_ = 0;
  std::int64_t present_tick_ = 0;
  EventHeap present_;  // Everything up to the end of the present tick.
  EventHeap far_;      // Everything from present_tick_ + kSlots on.
  std::vector<std::vector<Event>> slots_{static_cast<std::size_t>(kSlots)};  // What is between.
  std::array<std::uint64_t, kSlots / 64> occupied_{};  // A bit per slot: clear means empty.
};

}  // namespace shoal::sim
