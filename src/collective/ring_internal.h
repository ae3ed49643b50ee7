// The walk around a ring that all-reduce, all-gather and the parts of a hierarchical all-reduce
// have in common.
//
// The ring has as many slots (ranges of elements) as ranks. In step t a rank sends slot
// `first` - t to the next rank and gets slot `first` - t - 1 from the previous one, which it sends
// in step t + 1. Slots are cut into pieces, and a window of pieces goes around until it is done:
// each receive is followed by one send, of the same piece or, in the last step, of a piece of the
// next window. So a window is under way on every link from the first message to the last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collective/pieces_internal.h"
#include "collective/schedule.h"

namespace shoal::collective {

struct RingWalk {
  std::uint32_t next = 0;  // Ranks.
  std::uint32_t previous = 0;
  std::size_t first = 0;   // The slot that is sent first.
  std::size_t adds = 0;    // Steps that add; after them
  std::size_t copies = 0;  // come those that copy.
  std::span<const Range> slots;
};

void AppendRingWalk(const RingWalk& walk, const Pieces& pieces, Schedule& schedule);

}  // namespace shoal::collective
