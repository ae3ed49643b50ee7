#include "sim/event_queue.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace shoal::sim {

void EventQueue::Push(Event event) {
  event.at = std::max(event.at, now_);
  event.id = next_id_++;
  ++size_;
  Place(event);
}

void EventQueue::Place(const Event& event) {
  const std::int64_t tick = TickOf(event);
  if (tick <= present_tick_) return present_.Push(event);
  if (tick >= present_tick_ + kSlots) return far_.Push(event);
  const std::size_t slot = SlotOf(tick);
  slots_[slot].push_back(event);
  occupied_[slot / 64] |= std::uint64_t{1} << (slot % 64);
}

const Event* EventQueue::Peek() {
  while (present_.empty()) {
    if (!TurnPage()) return nullptr;
  }
  return &present_.Top();
}

Event EventQueue::Pop() {
  SHOAL_CHECK(Peek() != nullptr);
  const Event event = present_.Pop();
  --size_;
  now_ = event.at;
  return event;
}

void EventQueue::AdvanceTo(Duration at) {
  const Event* next = Peek();
  SHOAL_CHECK(next == nullptr || at <= next->at);
  now_ = std::max(now_, at);
}

bool EventQueue::TurnPage() {
  if (size_ == 0) return false;
  const std::int64_t occupied = NextOccupied();
  const bool slots_are_empty = occupied == present_tick_ + kSlots;
  if (slots_are_empty && !far_.empty()) {
    present_tick_ = TickOf(far_.Top());
  } else {
    present_tick_ = occupied;
  }
  std::vector<Event>& slot = slots_[SlotOf(present_tick_)];
  present_.Append(slot);
  slot.clear();
  occupied_[SlotOf(present_tick_) / 64] &= ~(std::uint64_t{1} << (SlotOf(present_tick_) % 64));
  while (!far_.empty() && TickOf(far_.Top()) < present_tick_ + kSlots) Place(far_.Pop());
  return true;
}

std::int64_t EventQueue::NextOccupied() const {
  std::int64_t tick = present_tick_ + 1;
  const std::int64_t end = present_tick_ + kSlots;
  while (tick < end) {
    const std::size_t slot = SlotOf(tick);
    const std::uint64_t bits = occupied_[slot / 64] >> (slot % 64);
    if (bits != 0) return std::min(tick + std::countr_zero(bits), end);
    tick += static_cast<std::int64_t>(64 - slot % 64);
  }
  return end;
}

}  // namespace shoal::sim
