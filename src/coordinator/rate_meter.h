// RateMeter: how many of something there were a second lately: tokens of a pipeline, rows of a
// node.
//
// A plain value: it is told the time, which does not go back.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace shoal::coordinator {

class RateMeter {
 public:
  // Long enough that a prompt's chunks do not look like a burst, short enough to be "now".
  static constexpr std::size_t kSlots = 10;
  static constexpr Duration kSlot = std::chrono::milliseconds(500);

  void Add(double count, Instant now);
  // Over the last kSlots * kSlot, or since the first one after a rest, but at least a second.
  double PerSecond(Instant now) const;

 private:
  std::array<double, kSlots> counts_ = {};  // Of slot number s at s % kSlots.
  std::int64_t newest_ = 0;                 // The number of the slot that was written last …
  std::int64_t began_ = 0;                  // … and of the first one after a rest.
};

}  // namespace shoal::coordinator
