#include <bit>
#include <vector>

#include "base/check.h"
#include "collective/pieces_internal.h"
#include "collective/schedule.h"

namespace shoal::collective {
namespace {

// What a rank keeps of `range`, and what its partner at this distance keeps.
struct Halves {
  Range mine;
  Range other;
};

Halves Halve(Range range, bool upper) {
  const std::uint64_t middle = range.begin + range.size() / 2;
  const Range low = {range.begin, middle};
  const Range high = {middle, range.end};
  return upper ? Halves{high, low} : Halves{low, high};
}

void Append(ActionKind kind, std::size_t peer, Range range, Schedule& schedule) {
  schedule.push_back({kind, static_cast<std::uint32_t>(peer), range.begin, range.end});
}

// Among the first `size` ranks, a power of two.
void AppendButterfly(std::size_t rank, std::size_t size, std::size_t elements, Schedule& schedule) {
  std::vector<Halves> steps;
  Range range = {0, elements};
  for (std::size_t distance = size / 2; distance > 0; distance /= 2) {
    const Halves halves = Halve(range, (rank & distance) != 0);
    Append(ActionKind::kSend, rank ^ distance, halves.other, schedule);
    Append(ActionKind::kReceiveAdd, rank ^ distance, halves.mine, schedule);
    steps.push_back(halves);
    range = halves.mine;
  }
  for (std::size_t distance = 1; distance < size; distance *= 2, steps.pop_back()) {
    Append(ActionKind::kSend, rank ^ distance, steps.back().mine, schedule);
    Append(ActionKind::kReceiveCopy, rank ^ distance, steps.back().other, schedule);
  }
}

}  // namespace

Schedule HalvingDoublingAllReduce(Place place, std::size_t elements) {
  SHOAL_CHECK_LT(place.rank, place.size);
  const std::size_t core = std::bit_floor(place.size);
  const Range all = {0, elements};
  Schedule schedule;
  if (place.rank >= core) {
    Append(ActionKind::kSend, place.rank - core, all, schedule);
    Append(ActionKind::kReceiveCopy, place.rank - core, all, schedule);
    return schedule;
  }
  const bool has_guest = place.rank + core < place.size;
  if (has_guest) Append(ActionKind::kReceiveAdd, place.rank + core, all, schedule);
  AppendButterfly(place.rank, core, elements, schedule);
  if (has_guest) Append(ActionKind::kSend, place.rank + core, all, schedule);
  return schedule;
}

Schedule Barrier(Place place) { return HalvingDoublingAllReduce(place, 0); }

}  // namespace shoal::collective
