// Shares: how a step's batch is cut over devices that are not equally fast, that get hot and run
// empty. The batch stays what it is; who is slow gets less of it, so that all are done together.
//
// Pure; thread-safe but for SpeedEstimate, which is one thread's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/node_id.h"
#include "base/status.h"

namespace shoal::train {

// What a device tells about itself, if it can. That it is throttled shows in its speed.
struct Condition {
  std::optional<double> battery_level{};  // 0 to 1.
  std::optional<bool> charging{};         // Not known counts as no.
  std::optional<double> battery_celsius{};
  bool operator==(const Condition&) const = default;
};

// How much of what it could do a device should: 1, a half, or 0, which is nothing. A half from 45
// °C or below 20 % without a charger; nothing from 50 °C or below 10 % without a charger.
//
// `before` is the factor that it had: it rises again only 2 °C and 3 % further, so that a device at
// a limit does not change every step.
double WorkFactor(const Condition& condition, double before = 1);

struct Device {
  NodeId node{};
  // Lately. Not known, or not a time: the mean of those that are; nobody's is: all are equal.
  std::optional<double> seconds_per_image{};
  std::int64_t samples_max = 0;  // That fit its memory in one step.
  double factor = 1;             // WorkFactor.
};

struct Share {
  NodeId node{};
  std::int64_t samples = 0;
  double factor = 1;  // Of the device when it was dealt.
  bool operator==(const Share&) const = default;
};

// One share per device, in their order: together exactly `batch`, none above samples_max, in
// proportion to factor / seconds_per_image. Whoever takes part (its factor and samples_max are not
// 0) has at least 1 if the batch is large enough. Shares are rounded down, and what is left goes,
// one by one, to whoever is done with one more first.
//
// kInvalidArgument: batch < 1; kUnavailable: nobody may work; kResourceExhausted: more than fits
// the devices; the message says who holds how much and what to do.
Result<std::vector<Share>> DealShares(std::span<const Device> devices, std::int64_t batch);

// The same again, after devices came, went or changed. The old shares stay unless the step would
// become more than 5 % shorter (the longest share × seconds_per_image counts), because whoever
// changes his share needs other images; but never if they are of other devices or another batch, if
// one is above its samples_max, or if a factor has changed.
Result<std::vector<Share>> RedealShares(std::span<const Share> old, std::span<const Device> devices,
                                        std::int64_t batch);

// What to expect of a device: the median of its last steps, which one stall does not change.
class SpeedEstimate {
 public:
  // A step in which it computed `images` in `seconds`. What cannot be is ignored.
  void Add(double seconds, std::int64_t images);
  std::optional<double> seconds_per_image() const;

 private:
  // With 5, ±4 % of noise in 1000 steps changed shares up to five times; with 7, at most once.
  static constexpr std::size_t kSteps = 7;

  std::array<double, kSteps> last_{};
  std::size_t count_ = 0;  // Ever; the next one goes to count_ % kSteps.
};

}  // namespace shoal::train
