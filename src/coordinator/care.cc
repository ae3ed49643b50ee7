#include "coordinator/care.h"

#include <algorithm>
#include <cstdio>

namespace shoal::coordinator {
namespace {

using Seen = Latch::Seen;

constexpr double kFloor = 0.10;
// What it takes from a battery to hand layers over: a minute at half of the time is 0.23 %. So
// nobody works below the floor, and who tells whole percents rests at it.
constexpr double kHandOver = 0.003;
constexpr double kThrottleAboveFloor = 0.10;
constexpr double kBetter = 0.05;  // So far above where it began, a demand of the battery ends.
constexpr double kPauseCelsius = 45;
constexpr double kUnpauseCelsius = 42;
constexpr double kStopCelsius = 50;
constexpr double kUnstopCelsius = 40;
constexpr double kThrottledDuty = 0.5;

// A sensor that falls silent counts for so long.
constexpr Duration kHold = std::chrono::minutes(5);
// Plugs wobble, and chargers think twice.
constexpr Duration kOffChargerAfter = std::chrono::seconds(10);
constexpr Duration kChargingAfter = std::chrono::minutes(1);
constexpr Duration kPatience = std::chrono::seconds(10);
constexpr Duration kHeatPatience = std::chrono::seconds(30);
// A head that slept knows nothing of the time in between.
constexpr Duration kGapMax = std::chrono::seconds(5);

// No battery is outside of these, and no charger is faster.
constexpr double kCelsiusMin = -30;
constexpr double kCelsiusMax = 120;
constexpr double kAmperesMax = 20;

bool IsIn(double value, double low, double high) { return value >= low && value <= high; }

// Sums of percents are a little off.
bool Reaches(double level, double limit) { return level >= limit - 1e-6; }

std::string Percent(double share) {
  return std::to_string(static_cast<int>(100 * share + 1e-6)) + " %";
}

std::string Celsius(double celsius) {
  char text[32];
  (void)std::snprintf(text, sizeof(text), "%.1f °C", celsius);
  return text;
}

Seen SeenIf(bool begins, bool ends) {
  if (begins) return Seen::kBegin;
  return ends ? Seen::kEnd : Seen::kNeither;
}

}  // namespace

NodeCare::NodeCare()
    : off_charger_for_(kOffChargerAfter),  // What it says first holds at once.
      off_charger_(kChargingAfter),
      demands_{{{CareState::kStopped, Latch(kHeatPatience)},
                {CareState::kDrained, Latch(kPatience)},
                {CareState::kDrained, Latch(Duration(0))},
                {CareState::kDrained, Latch(Duration(0))},
                {CareState::kPaused, Latch(kHeatPatience)},
                {CareState::kThrottled, Latch(kPatience)}}} {}

void NodeCare::SetWishes(const wire::pb::Wishes& wishes) { wishes_ = wire::ReadWishes(wishes); }

void NodeCare::SetRules(const WorkRules& rules) {
  rules_ = rules;
  for (const DemandName name : {kEmpty, kLow}) demands_[name].latch = Latch(kPatience);
}

void NodeCare::OnTelemetry(const wire::pb::Telemetry& telemetry, Instant now) {
  if (telemetry.has_battery_level() && IsIn(telemetry.battery_level(), 0, 1)) {
    level_ = {telemetry.battery_level(), now};
  }
  if (telemetry.has_battery_celsius() &&
      IsIn(telemetry.battery_celsius(), kCelsiusMin, kCelsiusMax)) {
    celsius_ = {telemetry.battery_celsius(), now};
  }
  if (telemetry.has_charging()) {
    charging_ = {telemetry.charging(), now};
  } else if (telemetry.has_battery_amperes() &&
             IsIn(telemetry.battery_amperes(), -kAmperesMax, kAmperesMax)) {
    charging_ = {telemetry.battery_amperes() >= 0, now};
  }
}

std::string NodeCare::Judge(Instant now, std::optional<int> minute) {
  const Duration passed = judged_ ? std::min(now - *judged_, kGapMax) : Duration(0);
  judged_ = now;
  const Demand* const was = Hardest();
  for (Known<double>* known : {&level_, &celsius_}) {
    if (now - known->at > kHold) known->value.reset();
  }
  if (now - charging_.at > kHold) charging_.value.reset();
  JudgeCharging(passed);
  JudgeBattery(passed);
  JudgeHeat(passed);
  JudgeWishes(minute, passed);
  const CareState before = verdict_.state;
  const Demand* const hardest = Hardest();
  verdict_.state = hardest != nullptr ? hardest->state : CareState::kFree;
  verdict_.why = hardest != nullptr ? hardest->why : "";
  // Also while others get the layers of one that rests.
  verdict_.duty = rules_.duty.value_or(1) * (demands_[kLow].latch.on() ? kThrottledDuty : 1);
  return verdict_.state == before ? "" : Describe(before, was);
}

void NodeCare::JudgeCharging(Duration passed) {
  const bool charging = charging_.value.value_or(false);
  off_charger_for_ = charging ? Duration(0) : off_charger_for_ + passed;
  off_charger_.Update(SeenIf(!charging && off_charger_for_ >= kOffChargerAfter, charging), passed);
}

template <class Why, class Over>
void NodeCare::Update(DemandName name, Seen seen, Duration passed, const Why& why,
                      const Over& over) {
  Demand& demand = demands_[name];
  const bool was_on = demand.latch.on();
  demand.latch.Update(seen, passed);
  // One that others outdo is told of when they end: in words of that time.
  const bool is_outdone = demand.state < verdict_.state && seen == Seen::kBegin;
  if (demand.latch.on() && (!was_on || is_outdone)) demand.why = why();
  if (!demand.latch.on() && was_on) demand.over = over();
}

void NodeCare::JudgeBattery(Duration passed) {
  const double floor = rules_.floor.value_or(kFloor);
  const double low = floor + kThrottleAboveFloor;
  const double level = level_.value.value_or(1);
  const bool off_charger = off_charger_.on();
  const auto now = [&] {
    return level_.value ? "battery " + Percent(level) : "its battery is not known any more";
  };
  Update(
      kEmpty,
      SeenIf(!Reaches(level, floor + kHandOver) && off_charger, Reaches(level, floor + kBetter)),
      passed, [&] { return now() + ", floor " + Percent(floor); }, now);
  Update(
      kLow,
      SeenIf(!Reaches(level, low) && off_charger, Reaches(level, low + kBetter) || !off_charger),
      passed, [&] { return now() + ", below " + Percent(low) + ", and not charging"; },
      [&] { return level_.value && !off_charger ? "charging" : now(); });
}

void NodeCare::JudgeHeat(Duration passed) {
  const double celsius = celsius_.value.value_or(kCelsiusMin);
  const auto now = [&] {
    return celsius_.value ? "battery " + Celsius(celsius)
                          : "its battery's heat is not known any more";
  };
  Update(
      kHot, SeenIf(celsius >= kStopCelsius, celsius < kUnstopCelsius), passed,
      [&] { return now() + ", 50 °C or more"; }, now);
  Update(
      kWarm, SeenIf(celsius >= kPauseCelsius, celsius < kUnpauseCelsius), passed,
      [&] { return now() + ", 45 °C or more"; }, now);
}

void NodeCare::JudgeWishes(std::optional<int> minute, Duration passed) {
  const bool only_charging = rules_.only_charging.value_or(wishes_.only_charging.value_or(false));
  const bool off_charger = only_charging && off_charger_.on();
  Update(
      kOffCharger, SeenIf(off_charger, !off_charger), passed,
      [&] {
        return charging_.value
                   ? "not charging, and only then it is to work"
                   : "it is to work only while charging, and whether it does is not known";
      },
      [&] { return only_charging ? "charging" : "not only while it charges"; });
  const DayHours hours = rules_.hours.value_or(wishes_.hours.value_or(DayHours{}));
  const bool off_hours = minute && !hours.Contains(*minute);
  const auto now = [&] { return "its hours are " + hours.ToString(); };
  Update(kOffHours, SeenIf(off_hours, !off_hours), passed, now, now);
}

const NodeCare::Demand* NodeCare::Hardest() const {
  const auto found = std::find_if(demands_.begin(), demands_.end(),
                                  [](const Demand& demand) { return demand.latch.on(); });
  return found == demands_.end() ? nullptr : &*found;
}

std::string NodeCare::Describe(CareState before, const Demand* was) const {
  switch (verdict_.state) {
    case CareState::kFree:
      return "works again: " + (was != nullptr ? was->over : "other rules");
    case CareState::kThrottled:
      return (Rests(before) ? "works again, half of the time: " : "works half of the time: ") +
             verdict_.why;
    case CareState::kPaused:
      return "pauses: " + verdict_.why;
    case CareState::kDrained:
      return "rests: " + verdict_.why;
    case CareState::kStopped:
      return "stops: " + verdict_.why;
  }
  return "";
}

}  // namespace shoal::coordinator
