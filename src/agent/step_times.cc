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
// Long enough that a process which runs for 30 of every 100 ms looks like one at a third of the
// speed, whatever its batches take; short enough to be rid of within seconds.
constexpr double kLatelySeconds = 2;
// Of batches so short that these are less than that, they are enough, too.
constexpr std::size_t kLatelyMax = 2048;

}  // namespace

void StepTimes::Add(std::size_t rows, Duration time, double promised) {
  if (!(promised > 0)) return;
  const double seconds = ToSeconds(time);
  lately_.push_back({seconds, promised});
  lately_seconds_ += seconds;
  while (lately_.size() > kEnough && (lately_.size() > kLatelyMax ||
                                      lately_seconds_ - lately_.front().seconds > kLatelySeconds)) {
    lately_seconds_ -= lately_.front().seconds;
    lately_.pop_front();
  }
  last_ = std::bit_ceil(std::max<std::size_t>(rows, 1));
  const double share = seconds / promised;
  Size& size = sizes_[last_];
  size.recent = size.count == 0 ? share : size.recent + kSmoothing * (share - size.recent);
  ++size.count;
  // Not of single batches: of two whose ends are noticed together, the second seems to take no
  // time.
  if (size.count == kEnough) size.best = size.recent;
  if (size.count > kEnough) size.best = std::min(size.best * kForget, size.recent);
}

std::optional<double> StepTimes::Slowness() const {
  if (lately_.size() < kEnough) return std::nullopt;
  Batch sum;
  Batch longest;
  for (const Batch& batch : lately_) {
    sum.seconds += batch.seconds;
    sum.promised += batch.promised;
    if (batch.seconds > longest.seconds) longest = batch;
  }
  const double seconds = sum.seconds - longest.seconds;
  const double promised = sum.promised - longest.promised;
  if (!(seconds > 0 && promised > 0)) return std::nullopt;
  return seconds / promised;
}

std::optional<double> StepTimes::Throttle() const {
  const auto found = sizes_.find(last_);
  if (found == sizes_.end() || found->second.count < kEnough || found->second.best <= 0) {
    return std::nullopt;
  }
  return found->second.recent / found->second.best;
}

}  // namespace shoal::agent
