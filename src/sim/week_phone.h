// WeekPhone: a phone over days: what it is charged with, how hot it gets, how fast that leaves it
// and when its link is away. A coarse model on averages of seconds, for runs of a week; World has
// the frames.
//
// Heat follows the paper's phones without fans: sustained work made a step 14.8 % longer, and then
// 36.3 %. How far a phone gets on that way depends on how much of the time it works, on its place
// and on the time of day.
#pragma once

#include "base/random.h"
#include "base/time.h"
#include "pipeline/plan_costs.h"

namespace shoal::sim {

struct WeekPhoneOptions {
  pipeline::PlanSpeeds speeds;  // That it measured when it was cool and idle.
  double handicap = 1;          // It takes so many times as long all the time, and does not know.
  bool on_charger = true;       // Always; otherwise only at night.
  double hottest = 1;           // Of the way to the paper's worst, at full work in the afternoon.
};

class WeekPhone {
 public:
  // `random` is its own from now on.
  WeekPhone(const WeekPhoneOptions& options, Random random);

  // `span` passes, `hour` of the day (0 to 24), during which it works for `load` of the time.
  void Pass(Duration span, double hour, double load);

  // What a batch takes against its profile, at its present heat.
  double slowness() const;
  // As fast as that leaves it.
  pipeline::PlanSpeeds TrueSpeeds() const;
  double battery() const { return battery_; }  // 0 to 1.
  bool charging() const { return charging_; }
  bool reachable() const { return away_for_ <= Duration{0}; }
  double latency() const;  // To the head, one way, in seconds.
  const WeekPhoneOptions& options() const { return options_; }

 private:
  void PassRadio(Duration span);

  const WeekPhoneOptions options_;
  Random random_;
  double battery_ = 0.8;
  bool charging_ = true;
  double heat_ = 0;        // 0: cool, 1: the paper's worst.
  Duration away_for_{0};   // Its link, from now on.
  Duration noisy_for_{0};  // Its air.
};

}  // namespace shoal::sim
