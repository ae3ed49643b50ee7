#include "coordinator/rate_meter.h"

#include <algorithm>

namespace shoal::coordinator {
namespace {

constexpr auto kSlotCount = static_cast<std::int64_t>(RateMeter::kSlots);

std::int64_t SlotAt(Instant at) { return at.since_origin / RateMeter::kSlot; }

}  // namespace

void RateMeter::Add(double count, Instant now) {
  const std::int64_t slot = SlotAt(now);
  if (slot - newest_ >= kSlotCount) {
    counts_.fill(0);
    began_ = slot;
  } else {
    for (std::int64_t s = newest_ + 1; s <= slot; ++s) {
      counts_[static_cast<std::size_t>(s) % kSlots] = 0;
    }
  }
  newest_ = slot;
  counts_[static_cast<std::size_t>(slot) % kSlots] += count;
}

double RateMeter::PerSecond(Instant now) const {
  const std::int64_t slot = SlotAt(now);
  double sum = 0;
  for (std::int64_t s = std::max({newest_ - kSlotCount + 1, slot - kSlotCount + 1, began_});
       s <= newest_; ++s) {
    sum += counts_[static_cast<std::size_t>(s) % kSlots];
  }
  const std::int64_t first = std::max(began_, slot - kSlotCount + 1);
  const double seconds = ToSeconds(now.since_origin - first * kSlot);
  return sum / std::max(seconds, 1.0);
}

}  // namespace shoal::coordinator
