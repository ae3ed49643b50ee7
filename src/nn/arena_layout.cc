#include "nn/arena_layout.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "tensor/aligned_buffer.h"

namespace shoal::nn {
namespace {

constexpr std::size_t kGranule = kTensorAlignment / sizeof(float);

std::size_t RoundUp(std::size_t floats) { return (floats + kGranule - 1) / kGranule * kGranule; }

// The lowest offset at which `thing` overlaps none of `placed`, which is sorted by offset.
std::size_t LowestFree(const Lifetime& thing, const std::vector<const Lifetime*>& placed) {
  std::size_t offset = 0;
  for (const Lifetime* other : placed) {
    if (other->last < thing.first || thing.last < other->first) continue;
    if (offset + RoundUp(thing.floats) <= other->offset) break;
    offset = std::max(offset, other->offset + RoundUp(other->floats));
  }
  return offset;
}

}  // namespace

std::size_t LayOut(std::span<Lifetime> things) {
  std::vector<std::size_t> order(things.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return things[a].floats > things[b].floats;
  });
  std::vector<const Lifetime*> placed;
  std::size_t size = 0;
  for (const std::size_t i : order) {
    Lifetime& thing = things[i];
    if (thing.floats == 0) continue;
    thing.offset = LowestFree(thing, placed);
    size = std::max(size, thing.offset + RoundUp(thing.floats));
    const auto at = std::upper_bound(
        placed.begin(), placed.end(), &thing,
        [](const Lifetime* a, const Lifetime* b) { return a->offset < b->offset; });
    placed.insert(at, &thing);
  }
  return size;
}

std::size_t LargestStep(std::span<const Lifetime> things) {
  std::size_t steps = 0;
  for (const Lifetime& thing : things) steps = std::max(steps, thing.last + 1);
  std::vector<std::size_t> floats(steps, 0);
  for (const Lifetime& thing : things) {
    for (std::size_t step = thing.first; step <= thing.last && thing.floats > 0; ++step) {
      floats[step] += RoundUp(thing.floats);
    }
  }
  return steps == 0 ? 0 : *std::max_element(floats.begin(), floats.end());
}

}  // namespace shoal::nn
