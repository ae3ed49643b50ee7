// SpeedBelief: how much slower than its profile promises the head takes a node to be. Follows what
// the node measures while it works (Telemetry.slowness), but not at once: what is planned with it
// must not change with every hiccup. Pure.
#pragma once

#include <chrono>
#include <optional>

#include "base/time.h"

namespace shoal::coordinator {

class SpeedBelief {
 public:
  // What is so many times off for so long is believed …
  static constexpr double kTolerance = 1.2;
  static constexpr Duration kPersists = std::chrono::seconds(2);
  // … and less, if it is so on the average of a minute, as heat is.
  static constexpr double kLittle = 1.05;
  static constexpr Duration kAverage = std::chrono::minutes(1);
  // After so long without work it may have cooled, or its owner may have stopped playing with it.
  static constexpr Duration kForgetAfter = std::chrono::hours(3);

  // The node says that it took `slowness` times as long as promised. What no device does is
  // ignored. True: something else is believed now.
  bool Measured(double slowness, Instant now);

  // Nothing: it has not worked lately.
  std::optional<double> Slowness(Instant now) const;

 private:
  void Believe(double slowness, Instant now);

  std::optional<double> believed_;
  Instant measured_at_;
  // While measurements differ from what is believed, all in one direction: since when, and which.
  std::optional<Instant> off_since_;
  bool off_slower_ = false;
  double average_ = 0;  // Of measurements since something else was believed, the last ones most.
  Instant changed_at_;
};

}  // namespace shoal::coordinator
