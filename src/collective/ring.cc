#include <algorithm>
#include <vector>

#include "base/check.h"
#include "collective/ring_internal.h"
#include "collective/schedule.h"

namespace shoal::collective {
namespace {

class Walker {
 public:
  Walker(const RingWalk& walk, const Pieces& pieces, Schedule& schedule)
      : walk_(walk), window_(Window(pieces)), schedule_(schedule) {
    std::uint64_t longest = 0;
    for (const Range& slot : walk.slots) longest = std::max(longest, slot.size());
    count_ = PieceCount(longest, pieces);
  }

  void Run() {
    const std::size_t steps = walk_.adds + walk_.copies;
    for (std::size_t piece = 0; piece < std::min(window_, count_); ++piece) Send(0, piece);
    for (std::size_t begin = 0; begin < count_; begin += window_) {
      const std::size_t end = std::min(begin + window_, count_);
      for (std::size_t step = 0; step < steps; ++step) {
        for (std::size_t piece = begin; piece < end; ++piece) {
          Receive(step, piece);
          if (step + 1 < steps) {
            Send(step + 1, piece);
          } else if (piece + window_ < count_) {
            Send(0, piece + window_);
          }
        }
      }
    }
  }

 private:
  // A piece of the slot that is sent in `step`.
  Range PieceOf(std::size_t step, std::size_t piece) const {
    const std::size_t size = walk_.slots.size();
    return Part(walk_.slots[(walk_.first + 2 * size - step) % size], count_, piece);
  }
  void Send(std::size_t step, std::size_t piece) {
    const Range range = PieceOf(step, piece);
    schedule_.push_back({ActionKind::kSend, walk_.next, range.begin, range.end});
  }
  void Receive(std::size_t step, std::size_t piece) {
    const Range range = PieceOf(step + 1, piece);
    const ActionKind kind = step < walk_.adds ? ActionKind::kReceiveAdd : ActionKind::kReceiveCopy;
    schedule_.push_back({kind, walk_.previous, range.begin, range.end});
  }

  const RingWalk& walk_;
  const std::size_t window_;
  std::size_t count_ = 1;  // Pieces of a slot.
  Schedule& schedule_;
};

RingWalk AllRanks(Place place, std::span<const Range> slots) {
  return {.next = static_cast<std::uint32_t>((place.rank + 1) % place.size),
          .previous = static_cast<std::uint32_t>((place.rank + place.size - 1) % place.size),
          .first = place.rank,
          .adds = 0,
          .copies = place.size - 1,
          .slots = slots};
}

}  // namespace

void AppendRingWalk(const RingWalk& walk, const Pieces& pieces, Schedule& schedule) {
  if (walk.slots.size() > 1) Walker(walk, pieces, schedule).Run();
}

Schedule RingAllReduce(Place place, std::size_t elements, const Pieces& pieces) {
  SHOAL_CHECK_LT(place.rank, place.size);
  std::vector<Range> slots;
  for (std::size_t i = 0; i < place.size; ++i) slots.push_back(Part({0, elements}, place.size, i));
  RingWalk walk = AllRanks(place, slots);
  walk.adds = place.size - 1;
  Schedule schedule;
  AppendRingWalk(walk, pieces, schedule);
  return schedule;
}

Schedule RingAllGather(Place place, std::span<const std::uint64_t> begins, const Pieces& pieces) {
  SHOAL_CHECK_LT(place.rank, place.size);
  SHOAL_CHECK_EQ(begins.size(), place.size + 1);
  SHOAL_CHECK(std::is_sorted(begins.begin(), begins.end()));
  std::vector<Range> slots;
  for (std::size_t i = 0; i < place.size; ++i) slots.push_back({begins[i], begins[i + 1]});
  Schedule schedule;
  AppendRingWalk(AllRanks(place, slots), pieces, schedule);
  return schedule;
}

}  // namespace shoal::collective
