#include "base/check.h"
#include "collective/pieces_internal.h"
#include "collective/schedule.h"

namespace shoal::collective {
namespace {

struct Chain {
  std::size_t position = 0;  // 0: where numbers come from.
  std::size_t size = 1;
  std::uint32_t before = 0;  // Ranks.
  std::uint32_t after = 0;
  ActionKind receive = ActionKind::kReceiveCopy;
};

// An empty message back for each piece that would go beyond the window: the first of a chain gets
// nothing else that would hold it up.
Schedule Pass(const Chain& chain, std::size_t elements, const Pieces& pieces) {
  const std::size_t count = PieceCount(elements, pieces);
  const std::size_t window = Window(pieces);
  const bool is_first = chain.position == 0;
  const bool is_last = chain.position + 1 == chain.size;
  Schedule schedule;
  for (std::size_t i = 0; i < count; ++i) {
    const Range range = Part({0, elements}, count, i);
    if (!is_last && i >= window) {
      schedule.push_back({ActionKind::kReceiveCopy, chain.after, 0, 0});
    }
    if (!is_first) schedule.push_back({chain.receive, chain.before, range.begin, range.end});
    if (!is_last) schedule.push_back({ActionKind::kSend, chain.after, range.begin, range.end});
    if (!is_first && i + window < count) {
      schedule.push_back({ActionKind::kSend, chain.before, 0, 0});
    }
  }
  return schedule;
}

std::uint32_t Neighbour(Place place, std::size_t by) {
  return static_cast<std::uint32_t>((place.rank + by) % place.size);
}

}  // namespace

Schedule ChainBroadcast(Place place, std::size_t elements, std::size_t root, const Pieces& pieces) {
  SHOAL_CHECK(place.rank < place.size && root < place.size);
  if (place.size == 1) return {};
  return Pass({.position = (place.rank + place.size - root) % place.size,
               .size = place.size,
               .before = Neighbour(place, place.size - 1),
               .after = Neighbour(place, 1),
               .receive = ActionKind::kReceiveCopy},
              elements, pieces);
}

Schedule ChainReduce(Place place, std::size_t elements, std::size_t root, const Pieces& pieces) {
  SHOAL_CHECK(place.rank < place.size && root < place.size);
  if (place.size == 1) return {};
  return Pass({.position = (root + 2 * place.size - 1 - place.rank) % place.size,
               .size = place.size,
               .before = Neighbour(place, 1),
               .after = Neighbour(place, place.size - 1),
               .receive = ActionKind::kReceiveAdd},
              elements, pieces);
}

}  // namespace shoal::collective
