// Latch: a state that begins at once and ends only when its end has been in sight for a while;
// longer each time it came back soon after it ended. What flaps at its input does not at its
// output.
//
// A plain value: it is told what is seen, and how much time has passed.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace shoal {

class Latch {
 public:
  enum class Seen : std::uint8_t { kBegin, kNeither, kEnd };

  // `patience`: how long the end must be in sight; doubled every time, up to 32 times as long.
  explicit constexpr Latch(Duration patience) : patience_min_(patience), patience_(patience) {}

  // What is seen now, `passed` after the last time.
  void Update(Seen seen, Duration passed) {
    if (seen == Seen::kBegin) return Begin();
    if (!on_) {
      off_for_ = std::min(off_for_ + passed, kForgetAfter);
      return;
    }
    end_for_ = seen == Seen::kEnd ? end_for_ + passed : Duration(0);
    if (end_for_ >= patience_) {
      on_ = false;
      off_for_ = Duration(0);
    }
  }
  bool on() const { return on_; }

 private:
  static constexpr Duration kForgetAfter = std::chrono::hours(1);
  static constexpr int kPatienceGrowth = 32;

  void Begin() {
    end_for_ = Duration(0);
    if (on_) return;
    on_ = true;
    patience_ = off_for_ < kForgetAfter ? std::min(2 * patience_, kPatienceGrowth * patience_min_)
                                        : patience_min_;
  }

  Duration patience_min_;
  Duration patience_;
  Duration end_for_{0};
  Duration off_for_ = kForgetAfter;
  bool on_ = false;
};

}  // namespace shoal
