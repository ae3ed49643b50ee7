// NodeMap: from a NodeId to a small number, as one flat table. A Send asks it for its
// link, which makes it the hottest lookup of a World: one multiplication and, as a
// rule, one cache line. Entries are never removed. Not for iteration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.h"
#include "base/node_id.h"

namespace shoal::sim {

class NodeMap {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  // The number of `id`, or kNone.
  std::uint32_t Find(NodeId id) const {
    if (slots_.empty()) return kNone;
    const Slot& slot = slots_[Locate(id)];
    return slot.number;
  }

  // REQUIRES: `id` is not in the map; `number` is not kNone.
  void Insert(NodeId id, std::uint32_t number) {
    if ((size_ + 1) * 2 > slots_.size()) Grow();
    slots_[Locate(id)] = {id, number};
    ++size_;
  }

 private:
  struct Slot {
    NodeId id{0};
    std::uint32_t number = kNone;
  };

  // Where `id` is, or the free slot where it would go. Half of the slots are free, so
  // the walk is short.
  std::size_t Locate(NodeId id) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = static_cast<std::size_t>(Avalanche(ToNumber(id))) & mask;
    while (slots_[i].number != kNone && slots_[i].id != id) i = (i + 1) & mask;
    return i;
  }

  void Grow() {
    std::vector<Slot> old(slots_.empty() ? 4 : slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number != kNone) slots_[Locate(slot.id)] = slot;
    }
  }

  std::size_t size_ = 0;
  std::vector<Slot> slots_;  // A power of two.
};

}  // namespace shoal::sim
