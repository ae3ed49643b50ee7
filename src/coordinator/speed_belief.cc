#include "coordinator/speed_belief.h"

#include <algorithm>

namespace shoal::coordinator {
namespace {

// A node says these itself. Small models run from caches and are some times faster than a profile
// says; a phone that takes a hundred times as long is of no use to anybody.
constexpr double kSlownessMin = 0.01;
constexpr double kSlownessMax = 1000;
// Measurements further apart than this do not belong to one stretch of work.
constexpr Duration kGapMax = std::chrono::seconds(30);

}  // namespace

bool SpeedBelief::Measured(double slowness, Instant now) {
  if (!(slowness >= kSlownessMin && slowness <= kSlownessMax)) return false;
  const Duration since = now - measured_at_;
  measured_at_ = now;
  if (since > kForgetAfter) believed_.reset();
  const auto off = [&](double measured, double times) {
    return measured > *believed_ * times || measured < *believed_ / times;
  };
  const double weight = std::min(ToSeconds(since) / ToSeconds(kAverage), 1.0);
  average_ += weight * (slowness - average_);
  if (believed_ && !off(slowness, kTolerance)) {
    off_since_.reset();
    if (now - changed_at_ < kAverage || !off(average_, kLittle)) return false;
    Believe(average_, now);
    return true;
  }
  const bool slower = believed_ && slowness > *believed_;
  if (!off_since_ || since > kGapMax || off_slower_ != slower) {
    off_since_ = now;
    off_slower_ = slower;
  }
  if (now - *off_since_ < kPersists) return false;
  // What it is like now, not what it was on the way there.
  Believe(slowness, now);
  return true;
}

void SpeedBelief::Believe(double slowness, Instant now) {
  believed_ = slowness;
  average_ = slowness;
  changed_at_ = now;
  off_since_.reset();
}

std::optional<double> SpeedBelief::Slowness(Instant now) const {
  return now - measured_at_ > kForgetAfter ? std::nullopt : believed_;
}

}  // namespace shoal::coordinator
