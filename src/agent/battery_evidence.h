// What a battery's level, over time, says about the sensors around it. Pure.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"

namespace shoal::agent {

// The current against the level: whoever confuses signs, or mA with µA, moves a charge that no
// battery has. It takes a few percent of the level to know, and then a few more to be believed
// again.
class ChargeBalance {
 public:
  // What is wrong; empty: nothing that would be known. `amperes`: positive into the battery.
  std::string Update(double amperes, double level, Duration passed);
  // What was measured before does not go on: time is missing in between.
  void Restart() { begin_.reset(); }

 private:
  std::string Weigh(double moved) const;

  std::optional<double> begin_;  // The level when the measurement began.
  double last_ = 0;              // The level.
  double ampere_hours_ = 0;      // Since then, into the battery.
  std::string wrong_;
};

// Whether a charger delivers, against the level. One that is too weak for a phone that computes
// does not count as a charger.
class ChargerClaim {
 public:
  // What is wrong; empty: nothing that would be known.
  std::string Update(bool charging, double level);
  void Restart() { claim_.reset(); }

 private:
  std::optional<bool> claim_;
  // The level, negative if no charger is said to deliver: it should not fall far.
  double highest_ = 0;
  double lowest_ = 0;
  std::string wrong_;
};

// For how long a reading has been the same to the last bit.
class Stillness {
 public:
  // `counts`: whether it should have moved in the time that `passed`.
  Duration Update(double value, bool counts, Duration passed);

 private:
  std::optional<double> value_;
  Duration same_for_{0};
};

// Whether a reading went further than it can in this time.
class Leap {
 public:
  // It may differ from the last reading by `slack`, and `per_second` more for every second.
  Leap(double slack, double per_second) : slack_(slack), per_second_(per_second) {}
  bool Update(double value, Instant now);

 private:
  double slack_;
  double per_second_;
  std::optional<double> value_;
  Instant at_;
};

}  // namespace shoal::agent
