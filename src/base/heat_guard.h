// HeatGuard: a node's own limit, whatever its head says: with a battery of 50 °C it does not
// compute, and not again before it has less than 40.
//
// A plain value: it is told what the sensor says, and when.
#pragma once

#include <optional>

#include "base/time.h"

namespace shoal {

inline constexpr double kTooHotCelsius = 50;
inline constexpr double kCoolCelsius = 40;

class HeatGuard {
 public:
  // A thermometer that is silent for so long says nothing any more.
  static constexpr Duration kForgetAfter = std::chrono::minutes(10);

  // `celsius`: absent if it is not known.
  void Update(std::optional<double> celsius, Instant now) {
    if (celsius) known_at_ = now;
    if (celsius && *celsius >= kTooHotCelsius) hot_ = true;
    if ((celsius && *celsius < kCoolCelsius) || now - known_at_ >= kForgetAfter) hot_ = false;
  }
  bool hot() const { return hot_; }

 private:
  bool hot_ = false;
  Instant known_at_;
};

}  // namespace shoal
