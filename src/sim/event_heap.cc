#include "sim/event_heap.h"

#include <algorithm>

#include "base/check.h"

namespace shoal::sim {

void EventHeap::Push(const Event& event) {
  heap_.push_back(event);
  std::size_t hole = heap_.size() - 1;
  while (hole > 0) {
    const std::size_t parent = (hole - 1) / kWays;
    if (!Before(event, heap_[parent])) break;
    heap_[hole] = heap_[parent];
    hole = parent;
  }
  heap_[hole] = event;
}

Event EventHeap::Pop() {
  SHOAL_CHECK(!heap_.empty());
  const Event first = heap_.front();
  const Event last = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) SiftDown(0, last);
  return first;
}

void EventHeap::Append(const std::vector<Event>& events) {
  heap_.insert(heap_.end(), events.begin(), events.end());
  Rebuild();
}

void EventHeap::SiftDown(std::size_t hole, const Event& event) {
  for (;;) {
    const std::size_t first_child = hole * kWays + 1;
    if (first_child >= heap_.size()) break;
    const std::size_t end = std::min(first_child + kWays, heap_.size());
    std::size_t least = first_child;
    for (std::size_t child = first_child + 1; child < end; ++child) {
      if (Before(heap_[child], heap_[least])) least = child;
    }
    if (!Before(heap_[least], event)) break;
    heap_[hole] = heap_[least];
    hole = least;
  }
  heap_[hole] = event;
}

void EventHeap::Rebuild() {
  if (heap_.size() < 2) return;
  for (std::size_t i = (heap_.size() - 2) / kWays + 1; i-- > 0;) {
    const Event event = heap_[i];
    SiftDown(i, event);
  }
}

}  // namespace shoal::sim
