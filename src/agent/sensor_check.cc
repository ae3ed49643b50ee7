#include "agent/sensor_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace shoal::agent {
namespace {

// Longer gaps, as when the phone slept, say nothing about what the sensors did in them.
constexpr Duration kGapMax = std::chrono::seconds(5);
// One failed read is none.
constexpr Duration kGoneAfter = std::chrono::seconds(10);

constexpr double kCelsiusMin = -30;
constexpr double kCelsiusMax = 120;
constexpr double kAmperesMax = 20;  // The fastest chargers stay below it.
constexpr double kWattsMax = 1000;

// While a node computes its battery's temperature and current waver in the last digit; a
// thermometer of whole degrees may rest. One that is hot and shows the same for so long is stuck
// whatever it does: it would rest for ever.
constexpr Duration kStuckAfter = std::chrono::minutes(10);
constexpr Duration kCoarseStuckAfter = std::chrono::hours(1);
constexpr double kHotCelsius = 40;
// In this time of computing off the charger every phone loses percents.
constexpr Duration kLevelStuckAfter = std::chrono::hours(1);

// A phone never takes so much; one that idles takes a thousandth of it.
constexpr double kAmperesMuch = 5;
constexpr double kThousandfold = 300;

std::string CannotBe(double value, const char* format) {
  if (!std::isfinite(value)) return "no number; ignored";
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), format, value);
  return std::string(text.data()) + " cannot be; ignored";
}

std::string OutsideOf(double low, double high, double value, const char* format) {
  return value >= low && value <= high ? "" : CannotBe(value, format);
}

std::string Stuck(double value, const char* format, Duration time) {
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), format, value);
  return std::string(text.data()) + " for " +
         std::to_string(std::chrono::duration_cast<std::chrono::minutes>(time).count()) +
         " minutes: it is stuck; ignored";
}

std::string Leapt(double value, const char* format) {
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), format, value);
  return "leapt to " + std::string(text.data()) + "; ignored";
}

}  // namespace

void SensorCheck::Check(wire::pb::Telemetry& telemetry, Instant now, bool working) {
  const Duration gap = last_ ? now - *last_ : Duration(0);
  last_ = now;
  const Moment moment{.now = now, .passed = std::min(gap, kGapMax), .working = working};
  if (gap > kGapMax) {
    balance_.Restart();
    claim_.Restart();
  }
  if (!Believe(level_, telemetry.has_battery_level(), FaultOfLevel(telemetry, moment), moment)) {
    telemetry.clear_battery_level();
    balance_.Restart();
    claim_.Restart();
  }
  const std::string fault_of_celsius =
      telemetry.has_battery_celsius() ? FaultOfCelsius(telemetry.battery_celsius(), moment) : "";
  if (!Believe(celsius_, telemetry.has_battery_celsius(), fault_of_celsius, moment)) {
    telemetry.clear_battery_celsius();
  }
  const bool has_amperes = telemetry.has_battery_amperes();
  if (!Believe(amperes_, has_amperes, FaultOfAmperes(telemetry, moment), moment)) {
    telemetry.clear_battery_amperes();
    // These were computed from them.
    if (has_amperes && !telemetry.watts_estimated()) telemetry.clear_watts();
  }
  const std::string fault_of_charger =
      telemetry.has_charging() && telemetry.has_battery_level()
          ? claim_.Update(telemetry.charging(), telemetry.battery_level())
          : "";
  if (!Believe(charging_, telemetry.has_charging(), fault_of_charger, moment)) {
    telemetry.clear_charging();
  }
  if (!BelieveIfThere(watts_, telemetry.has_watts(),
                      OutsideOf(0, kWattsMax, telemetry.watts(), "%.4g W"), moment)) {
    telemetry.clear_watts();
  }
  if (!BelieveIfThere(cpu_, telemetry.has_cpu_share(),
                      OutsideOf(0, 1, telemetry.cpu_share(), "%.4g of all cores"), moment)) {
    telemetry.clear_cpu_share();
  }
  if (!BelieveIfThere(pressure_, telemetry.has_memory_pressure(),
                      OutsideOf(0, 1, telemetry.memory_pressure(), "%.4g of the time"), moment)) {
    telemetry.clear_memory_pressure();
  }
  for (const Sensor* sensor :
       {&level_, &celsius_, &amperes_, &charging_, &watts_, &cpu_, &pressure_}) {
    if (sensor->doubted.on()) telemetry.add_doubts(sensor->doubt);
  }
}

std::string SensorCheck::FaultOfLevel(const wire::pb::Telemetry& telemetry, const Moment& moment) {
  if (!telemetry.has_battery_level()) return "";
  const double level = telemetry.battery_level();
  if (const std::string fault = OutsideOf(0, 1, level, "a share of %.4g"); !fault.empty()) {
    return fault;
  }
  if (level_leap_.Update(level, moment.now)) return Leapt(100 * level, "%.0f %%");
  const bool empties = moment.working && telemetry.has_charging() && !telemetry.charging();
  const Duration still = level_still_.Update(level, empties, moment.passed);
  return still >= kLevelStuckAfter ? Stuck(100 * level, "%.0f %%", kLevelStuckAfter) : "";
}

std::string SensorCheck::FaultOfCelsius(double celsius, const Moment& moment) {
  if (const std::string fault = OutsideOf(kCelsiusMin, kCelsiusMax, celsius, "%.1f °C");
      !fault.empty()) {
    return fault;
  }
  if (celsius_leap_.Update(celsius, moment.now)) return Leapt(celsius, "%.1f °C");
  if (celsius != std::floor(celsius)) celsius_has_tenths_ = true;
  const Duration limit = celsius_has_tenths_ ? kStuckAfter : kCoarseStuckAfter;
  const bool wavers = moment.working || celsius >= kHotCelsius;
  const Duration still = celsius_still_.Update(celsius, wavers, moment.passed);
  return still >= limit ? Stuck(celsius, "%.1f °C", limit) : "";
}

std::string SensorCheck::FaultOfAmperes(const wire::pb::Telemetry& telemetry,
                                        const Moment& moment) {
  if (!telemetry.has_battery_amperes()) return "";
  const double amperes = telemetry.battery_amperes();
  if (const std::string fault = OutsideOf(-kAmperesMax, kAmperesMax, amperes, "%.4g A");
      !fault.empty()) {
    return fault;
  }
  const double before = std::abs(std::exchange(last_amperes_, amperes));
  const double much = std::max(before, std::abs(amperes));
  const double little = std::min(before, std::abs(amperes));
  if (much >= kAmperesMuch && little > 0 && much >= kThousandfold * little) {
    return Leapt(amperes, "%.3g A") + ": a thousandfold";
  }
  // A battery that is full, or left alone by its charger, has none at all.
  const bool wavers = moment.working && amperes != 0;
  if (amperes_still_.Update(amperes, wavers, moment.passed) >= kStuckAfter) {
    return Stuck(amperes, "%.3f A", kStuckAfter);
  }
  return telemetry.has_battery_level()
             ? balance_.Update(amperes, telemetry.battery_level(), moment.passed)
             : "";
}

bool SensorCheck::Believe(Sensor& sensor, bool present, const std::string& fault,
                          const Moment& moment) {
  sensor.seen = sensor.seen || present;
  sensor.missing = present ? Duration(0) : sensor.missing + moment.passed;
  const bool gone = sensor.seen && sensor.missing >= kGoneAfter;
  return BelieveIfThere(sensor, present, gone ? "can no longer be read" : fault, moment);
}

bool SensorCheck::BelieveIfThere(Sensor& sensor, bool present, const std::string& fault,
                                 const Moment& moment) {
  const bool doubted_before = sensor.doubted.on();
  const bool faulty = !fault.empty() && (present || sensor.missing >= kGoneAfter);
  sensor.doubted.Update(faulty    ? Latch::Seen::kBegin
                        : present ? Latch::Seen::kEnd
                                  : Latch::Seen::kNeither,
                        moment.passed);
  if (sensor.doubted.on() && !doubted_before) {
    sensor.doubt = std::string(sensor.name) + ": " + fault;
  }
  return present && !sensor.doubted.on();
}

}  // namespace shoal::agent
