#include "sim/week_phone.h"

#include <algorithm>
#include <cmath>

namespace shoal::sim {
namespace {

// An old battery, what the phone takes at full work and asleep, and what a charger gives; W and Wh.
constexpr double kBatteryWattHours = 11;
constexpr double kWorkWatts = 3;
constexpr double kSleepWatts = 0.02;
constexpr double kChargerWatts = 8;
// As guides advise, and phones can be told.
constexpr double kChargedAt = 0.8;
// Plugged in when people go to bed, and out when they get up.
constexpr double kNightBegins = 22;
constexpr double kNightEnds = 7;

// How long a phone takes to get two thirds hot or cool.
constexpr double kHeatSeconds = 600;
// By how much afternoons are hotter than nights.
constexpr double kAfternoon = 0.25;
// The paper's two plateaus: how far on the way, and what a step takes there.
constexpr double kWarm = 0.5;
constexpr double kWarmTakes = 0.148;
constexpr double kHotTakes = 0.363;

constexpr double kDipsPerDay = 4;
constexpr double kDipSeconds = 30;
constexpr double kNoisePerDay = 6;
constexpr double kNoiseSeconds = 300;
constexpr double kLatency = 0.002;
constexpr double kNoisyLatency = 0.015;

constexpr double kDaySeconds = 86400;

}  // namespace

WeekPhone::WeekPhone(const WeekPhoneOptions& options, Random random)
    : options_(options), random_(random) {}

void WeekPhone::Pass(Duration span, double hour, double load) {
  const double seconds = ToSeconds(span);
  const bool plugged = options_.on_charger || hour >= kNightBegins || hour < kNightEnds;
  const double watts = kSleepWatts + kWorkWatts * load;
  const double charger = plugged ? (battery_ < kChargedAt ? kChargerWatts : watts) : 0;
  charging_ = plugged;
  battery_ =
      std::clamp(battery_ + (charger - watts) * seconds / 3600 / kBatteryWattHours, 0.0, 1.0);
  const double afternoon = 0.5 + 0.5 * std::cos((hour - 15) / 12 * 3.14159265);
  const double ends = load * options_.hottest * (1 - kAfternoon * (1 - afternoon));
  heat_ += (ends - heat_) * (1 - std::exp(-seconds / kHeatSeconds));
  PassRadio(span);
}

void WeekPhone::PassRadio(Duration span) {
  const double days = ToSeconds(span) / kDaySeconds;
  const auto draw = [&](Duration& left, double per_day, double mean_seconds) {
    left = std::max(left - span, Duration{0});
    if (!random_.Chance(std::min(per_day * days, 1.0))) return;
    const double seconds = -mean_seconds * std::log(1 - random_.Unit());
    left = Duration(static_cast<Duration::rep>(1e9 * seconds));
  };
  draw(away_for_, kDipsPerDay, kDipSeconds);
  draw(noisy_for_, kNoisePerDay, kNoiseSeconds);
}

double WeekPhone::slowness() const {
  const double first = std::min(heat_ / kWarm, 1.0);
  const double second = std::clamp((heat_ - kWarm) / (1 - kWarm), 0.0, 1.0);
  return options_.handicap * (1 + kWarmTakes * first + (kHotTakes - kWarmTakes) * second);
}

pipeline::PlanSpeeds WeekPhone::TrueSpeeds() const {
  return {.weight_bytes_per_second = options_.speeds.weight_bytes_per_second / slowness(),
          .operations_per_second = options_.speeds.operations_per_second / slowness()};
}

double WeekPhone::latency() const { return noisy_for_ > Duration{0} ? kNoisyLatency : kLatency; }

}  // namespace shoal::sim
