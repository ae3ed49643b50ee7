#include "agent/step_times.h"

#include <algorithm>
#include <bit>

namespace shoal::agent {
namespace {

// The best is forgotten with a half-life of some 7,000 batches: minutes of generating.
constexpr double kForget = 1.0001;
// One slow batch is a hiccup; eight in a row are heat.
constexpr double kSmoothing = 0.125;
constexpr std::size_t kEnough = 8;

}  // namespace

void StepTimes::Add(std::size_t rows, Duration time) {
  last_ = std::bit_ceil(std::max<std::size_t>(rows, 1));
  const double seconds = ToSeconds(time);
  Size& size = sizes_[last_];
  size.best = size.count == 0 ? seconds : std::min(size.best * kForget, seconds);
  size.recent = size.count == 0 ? seconds : size.recent + kSmoothing * (seconds - size.recent);
  ++size.count;
}

std::optional<double> StepTimes::Throttle() const {
  const auto found = sizes_.find(last_);
  if (found == sizes_.end() || found->second.count < kEnough || found->second.best <= 0) {
    return std::nullopt;
  }
  return found->second.recent / found->second.best;
}

}  // namespace shoal::agent
