#include "sim/faults.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/random.h"

namespace shoal::sim {
namespace {

constexpr double kNanosecondsPerMillisecond = 1e6;
constexpr double kValueMax = 1e9;

constexpr std::array<FaultField, 15> kFields = {{
    {"frame-loss", "share of frames sent again after a lost packet", &Faults::frame_loss},
    {"delay-jitter-ms", "mean extra delay of a frame", &Faults::delay_jitter_mean},
    {"bit-flip", "share of frames with one flipped bit", &Faults::bit_flip},
    {"disconnects", "connections reset, per node and hour", &Faults::disconnects_per_node_hour},
    {"partitions", "splits of the cluster, per hour", &Faults::partitions_per_hour},
    {"partition-ms", "mean length of a split", &Faults::partition_mean},
    {"crashes", "processes killed, per node and hour", &Faults::crashes_per_node_hour},
    {"restart-ms", "mean time until a killed process is started", &Faults::restart_mean},
    {"power-loss", "share of crashes that take the phone down", &Faults::power_loss},
    {"hangs", "phones that stand still, per node and hour", &Faults::hangs_per_node_hour},
    {"hang-ms", "mean length of a hang", &Faults::hang_mean},
    {"slowdowns", "phones that throttle, per node and hour", &Faults::slowdowns_per_node_hour},
    {"slowdown-ms", "mean length of a slowdown", &Faults::slowdown_mean},
    {"slowdown-factor", "how much slower a throttled phone is", &Faults::slowdown_factor},
    {"clock-drift-ppm", "largest clock error, parts per million", &Faults::clock_drift_ppm_max},
}};

// One of 0, 1/parts, … max/parts: divided, not multiplied, so that 7/1000 reads "0.007".
double DrawShare(Random& random, std::int64_t max, double parts) {
  return static_cast<double>(random.Between(0, max)) / parts;
}

// From never to once a minute.
double DrawHourlyRate(Random& random) { return static_cast<double>(random.Between(0, 10) * 6); }

// From a quarter of a second, which few notice, to ten, which nobody overlooks.
Duration DrawMean(Random& random) { return std::chrono::milliseconds(random.Between(1, 40) * 250); }

}  // namespace

double FaultField::Get(const Faults& faults) const {
  if (const auto* number = std::get_if<double Faults::*>(&member)) return faults.**number;
  const Duration duration = faults.*std::get<Duration Faults::*>(member);
  return static_cast<double>(duration.count()) / kNanosecondsPerMillisecond;
}

void FaultField::Set(Faults& faults, double value) const {
  const bool is_share = name == "frame-loss" || name == "bit-flip" || name == "power-loss";
  const double known = std::isnan(value) ? 0 : value;
  const double bounded = std::clamp(known, 0.0, is_share ? 1.0 : kValueMax);
  if (const auto* number = std::get_if<double Faults::*>(&member)) {
    faults.** number = bounded;
  } else {
    faults.*std::get<Duration Faults::*>(member) =
        Duration(std::llround(bounded * kNanosecondsPerMillisecond));
  }
}

std::span<const FaultField> FaultFields() { return kFields; }

Faults RandomFaults(std::uint64_t seed) {
  constexpr std::uint64_t kStream = 0xfa;  // Apart from the numbers the World itself draws.
  Random random(seed, kStream);
  Faults faults;
  faults.frame_loss = DrawShare(random, 50, 1000);
  faults.delay_jitter_mean = std::chrono::milliseconds(random.Between(0, 20));
  faults.bit_flip = DrawShare(random, 20, 10000);
  faults.disconnects_per_node_hour = DrawHourlyRate(random);
  faults.partitions_per_hour = 2 * DrawHourlyRate(random);
  faults.partition_mean = DrawMean(random);
  faults.crashes_per_node_hour = DrawHourlyRate(random);
  faults.restart_mean = DrawMean(random);
  faults.power_loss = DrawShare(random, 10, 10);
  faults.hangs_per_node_hour = DrawHourlyRate(random);
  faults.hang_mean = DrawMean(random);
  faults.slowdowns_per_node_hour = DrawHourlyRate(random);
  faults.slowdown_factor = static_cast<double>(random.Between(2, 20));
  faults.clock_drift_ppm_max = static_cast<double>(random.Between(0, 10) * 50);
  return faults;
}

std::string ShortestNumber(double value) {
  std::array<char, 40> text{};
  for (int digits = 15; digits <= 17; ++digits) {
    (void)std::snprintf(text.data(), text.size(), "%.*g", digits, value);
    if (std::strtod(text.data(), nullptr) == value) break;
  }
  return text.data();
}

std::string FaultFlags(const Faults& faults) {
  std::string flags;
  for (const FaultField& field : kFields) {
    const double value = field.Get(faults);
    if (value == field.Get(Faults{})) continue;
    flags.append(" --").append(field.name).append(" ").append(ShortestNumber(value));
  }
  return flags;
}

}  // namespace shoal::sim
