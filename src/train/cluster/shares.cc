#include "train/cluster/shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace shoal::train {
namespace {

constexpr double kHot = 45, kTooHot = 50;
constexpr double kLow = 0.2, kTooLow = 0.1;
constexpr double kCooler = 2, kFuller = 0.03;  // Before the factor rises again.
constexpr double kWorthwhile = 0.95;           // Of the old step's time.
constexpr double kSecondsMin = 1e-9, kSecondsMax = 1e6;
constexpr std::size_t kDevicesNamed = 8;

bool IsTime(double seconds) { return seconds >= kSecondsMin && seconds <= kSecondsMax; }

double FactorAt(const Condition& condition, double warmer, double emptier) {
  double factor = 1;
  const auto limit = [&](bool half, bool nothing) {
    factor = std::min(factor, nothing ? 0.0 : half ? 0.5 : 1.0);
  };
  if (condition.battery_celsius) {
    const double celsius = *condition.battery_celsius + warmer;
    limit(celsius >= kHot, celsius >= kTooHot);
  }
  if (condition.battery_level && !condition.charging.value_or(false)) {
    const double level = *condition.battery_level - emptier;
    limit(level < kLow, level < kTooLow);
  }
  return factor;
}

// Of each device, in order, with guesses for those that are not known.
std::vector<double> SecondsOf(std::span<const Device> devices) {
  double sum = 0;
  int known = 0;
  for (const Device& device : devices) {
    if (!device.seconds_per_image || !IsTime(*device.seconds_per_image)) continue;
    sum += *device.seconds_per_image;
    ++known;
  }
  const double guess = known > 0 ? sum / known : 1;
  std::vector<double> seconds;
  for (const Device& device : devices) {
    const double own = device.seconds_per_image.value_or(0);
    seconds.push_back(IsTime(own) ? own : guess);
  }
  return seconds;
}

bool TakesPart(const Device& device) { return device.factor > 0 && device.samples_max > 0; }

Status CheckFit(std::span<const Device> devices, std::int64_t batch) {
  if (batch < 1) return Status(Code::kInvalidArgument, fmt::format("a batch of {} images", batch));
  std::int64_t room = 0;
  std::size_t working = 0;
  std::string who;
  for (const Device& device : devices) {
    if (!TakesPart(device)) continue;
    room += std::min(device.samples_max, batch);
    if (++working <= kDevicesNamed) {
      who += fmt::format("{}node {} holds {}", working == 1 ? "" : ", ", ToNumber(device.node),
                         device.samples_max);
    }
    if (room >= batch) return {};
  }
  if (working == 0) {
    return Status(Code::kUnavailable,
                  fmt::format("none of {} devices may work: they are too hot, their batteries too "
                              "low, or their memory too small for one image",
                              devices.size()));
  }
  if (working > kDevicesNamed) who += fmt::format(" and {} more", working - kDevicesNamed);
  return Status(Code::kResourceExhausted,
                fmt::format("a batch of {} images does not fit: {}, {} together; make the batch "
                            "smaller, or add devices",
                            batch, who, room));
}

// Shares as fractions: in proportion to `weights`, each between `least` and its own most.
class Proportion {
 public:
  Proportion(std::span<const double> weights, std::span<const std::int64_t> most, double least)
      : weights_(weights), most_(most), least_(least) {}

  double Share(std::size_t i, double scale) const {
    const auto most = static_cast<double>(most_[i]);
    return std::clamp(scale * weights_[i], std::min(least_, most), most);
  }

  // The scale with which they are `sum` together; a little below it, never above.
  double ScaleFor(double sum) const {
    double low = 0, high = 1;
    while (Sum(high) < sum && high < 1e300) high *= 2;
    for (int i = 0; i < 100; ++i) {
      const double middle = low + (high - low) / 2;
      (Sum(middle) <= sum ? low : high) = middle;
    }
    return low;
  }

 private:
  double Sum(double scale) const {
    double sum = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) sum += Share(i, scale);
    return sum;
  }

  std::span<const double> weights_;
  std::span<const std::int64_t> most_;
  double least_;
};

std::vector<std::int64_t> Cut(std::span<const double> weights, std::span<const std::int64_t> most,
                              std::int64_t batch) {
  const auto working = std::count_if(most.begin(), most.end(), [](auto m) { return m > 0; });
  const Proportion proportion(weights, most, batch >= working ? 1 : 0);
  const double scale = proportion.ScaleFor(static_cast<double>(batch));
  std::vector<std::int64_t> shares;
  std::int64_t left = batch;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    shares.push_back(static_cast<std::int64_t>(proportion.Share(i, scale)));
    left -= shares.back();
  }
  while (left > 0) {
    std::size_t best = shares.size();
    double soonest = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (shares[i] >= most[i]) continue;
      const double done = static_cast<double>(shares[i] + 1) / weights[i];
      if (best != shares.size() && done >= soonest) continue;
      best = i;
      soonest = done;
    }
    ++shares[best];
    --left;
  }
  return shares;
}

// Of a step with these shares, which are of these devices.
double StepTime(std::span<const Share> shares, std::span<const double> seconds) {
  double longest = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    longest = std::max(longest, static_cast<double>(shares[i].samples) * seconds[i]);
  }
  return longest;
}

// `old` in the order of `devices`. Nothing: it cannot stay.
std::optional<std::vector<Share>> StillGood(std::span<const Share> old,
                                            std::span<const Device> devices, std::int64_t batch) {
  if (old.size() != devices.size()) return std::nullopt;
  std::vector<Share> kept;
  std::int64_t sum = 0;
  for (const Device& device : devices) {
    const auto found = std::find_if(old.begin(), old.end(),
                                    [&](const Share& share) { return share.node == device.node; });
    if (found == old.end() || found->factor != device.factor) return std::nullopt;
    if (found->samples < 0 || found->samples > device.samples_max) return std::nullopt;
    kept.push_back(*found);
    sum += found->samples;
  }
  if (sum != batch) return std::nullopt;
  return kept;
}

}  // namespace

double WorkFactor(const Condition& condition, double before) {
  const double now = FactorAt(condition, 0, 0);
  if (now <= before) return now;
  return std::max(before, FactorAt(condition, kCooler, kFuller));
}

Result<std::vector<Share>> DealShares(std::span<const Device> devices, std::int64_t batch) {
  SHOAL_RETURN_IF_ERROR(CheckFit(devices, batch));
  const std::vector<double> seconds = SecondsOf(devices);
  std::vector<double> weights;
  std::vector<std::int64_t> most;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const bool works = TakesPart(devices[i]);
    weights.push_back(works ? std::min(devices[i].factor, 1.0) / seconds[i] : 1);
    most.push_back(works ? std::min(devices[i].samples_max, batch) : 0);
  }
  const std::vector<std::int64_t> samples = Cut(weights, most, batch);
  std::vector<Share> shares;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    shares.push_back({devices[i].node, samples[i], devices[i].factor});
  }
  return shares;
}

Result<std::vector<Share>> RedealShares(std::span<const Share> old, std::span<const Device> devices,
                                        std::int64_t batch) {
  SHOAL_ASSIGN_OR_RETURN(std::vector<Share> dealt, DealShares(devices, batch));
  const std::optional<std::vector<Share>> kept = StillGood(old, devices, batch);
  if (!kept) return dealt;
  const std::vector<double> seconds = SecondsOf(devices);
  return StepTime(dealt, seconds) < kWorthwhile * StepTime(*kept, seconds) ? dealt : *kept;
}

void SpeedEstimate::Add(double seconds, std::int64_t images) {
  if (images < 1 || !IsTime(seconds / static_cast<double>(images))) return;
  last_[count_ % kSteps] = seconds / static_cast<double>(images);
  ++count_;
}

std::optional<double> SpeedEstimate::seconds_per_image() const {
  const std::size_t count = std::min(count_, kSteps);
  if (count == 0) return std::nullopt;
  std::array<double, kSteps> sorted = last_;
  // Of an even number the lower one: stalls make steps longer, never shorter.
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((count - 1) / 2);
  std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(count));
  return *middle;
}

}  // namespace shoal::train
