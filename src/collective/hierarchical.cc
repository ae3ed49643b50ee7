#include <algorithm>
#include <vector>

#include "base/check.h"
#include "collective/ring_internal.h"
#include "collective/schedule.h"

namespace shoal::collective {
namespace {

using Ranks = std::vector<std::uint32_t>;

struct Seat {
  std::size_t group = 0;
  std::size_t index = 0;  // Within it.
};

Seat Find(std::size_t rank, std::span<const Ranks> groups) {
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const auto found = std::find(groups[group].begin(), groups[group].end(), rank);
    if (found != groups[group].end()) {
      return {group, static_cast<std::size_t>(found - groups[group].begin())};
    }
  }
  SHOAL_CHECK(false);
  return {};
}

RingWalk Around(const Ranks& ring, std::size_t index, std::span<const Range> slots) {
  const std::size_t size = ring.size();
  return {.next = ring[(index + 1) % size],
          .previous = ring[(index + size - 1) % size],
          .first = index,
          .adds = size - 1,
          .copies = 0,
          .slots = slots};
}

// The slots of a group's ring: after the steps that add, the i-th rank has part i, which is slot
// i + 1. Ranks beyond the number of parts have none.
std::vector<Range> GroupSlots(std::size_t size, std::size_t parts, Range all) {
  std::vector<Range> slots(size);
  for (std::size_t i = 0; i < parts; ++i) slots[(i + 1) % size] = Part(all, parts, i);
  return slots;
}

}  // namespace

bool AreGroups(std::size_t size, std::span<const Ranks> groups) {
  std::vector<bool> seen(size);
  std::size_t count = 0;
  for (const Ranks& group : groups) {
    for (const std::uint32_t rank : group) {
      if (rank >= size || seen[rank]) return false;
      seen[rank] = true;
      ++count;
    }
    if (group.empty()) return false;
  }
  return count == size;
}

Schedule HierarchicalAllReduce(Place place, std::size_t elements, const Pieces& pieces,
                               std::span<const Ranks> groups) {
  SHOAL_CHECK(AreGroups(place.size, groups));
  const Seat seat = Find(place.rank, groups);
  const Ranks& group = groups[seat.group];
  std::size_t parts = group.size();
  for (const Ranks& other : groups) parts = std::min(parts, other.size());
  const Range all = {0, elements};
  const std::vector<Range> slots = GroupSlots(group.size(), parts, all);
  Schedule schedule;

  RingWalk within = Around(group, seat.index, slots);
  AppendRingWalk(within, pieces, schedule);
  if (seat.index < parts) {
    Ranks ring;
    std::vector<Range> shares;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      ring.push_back(groups[i][seat.index]);
      shares.push_back(Part(Part(all, parts, seat.index), groups.size(), i));
    }
    RingWalk across = Around(ring, seat.group, shares);
    across.copies = across.adds;
    AppendRingWalk(across, pieces, schedule);
  }
  within.first = (seat.index + 1) % group.size();
  within.adds = 0;
  within.copies = group.size() - 1;
  AppendRingWalk(within, pieces, schedule);
  return schedule;
}

}  // namespace shoal::collective
