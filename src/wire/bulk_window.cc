#include "wire/bulk_window.h"

#include <algorithm>
#include <string>

namespace shoal::wire {
namespace {

// The first answers of a fast link say little about how fast it is, so growth is
// limited; shrinking is not: it is always somebody's delay.
constexpr double kGrowthMax = 2.0;

}  // namespace

std::size_t BulkWindow::SliceBytes() const {
  return std::clamp(window_bytes_ / 4, kSliceBytesMin, kSliceBytesMax);
}

std::size_t BulkWindow::SendableBytes() const {
  const std::size_t slice = SliceBytes();
  return in_flight_bytes() + slice <= window_bytes_ ? slice : 0;
}

void BulkWindow::OnSent(Instant now, std::size_t bytes) {
  sent_bytes_ += bytes;
  unacked_.push_back({.end = sent_bytes_, .at = now});
  in_flight_max_ = std::max(in_flight_max_, in_flight_bytes());
}

Status BulkWindow::OnAck(Instant now, std::uint64_t received_bytes) {
  if (received_bytes < acked_bytes_ || received_bytes > sent_bytes_) {
    return {Code::kCorruption, "bulk ack: received_bytes is " + std::to_string(received_bytes) +
                                   ", outside of " + std::to_string(acked_bytes_) + " to " +
                                   std::to_string(sent_bytes_)};
  }
  acked_bytes_ = received_bytes;
  while (!unacked_.empty() && unacked_.front().end <= received_bytes) {
    const Sent slice = unacked_.front();
    unacked_.pop_front();
    // Of several slices acknowledged at once, the last is the one that was answered.
    if (unacked_.empty() || unacked_.front().end > received_bytes) Measure(now, slice);
  }
  return {};
}

void BulkWindow::Measure(Instant now, const Sent& slice) {
  const Duration round_trip = now - slice.at;
  round_trip_min_ = std::min(round_trip_min_, round_trip);
  if (slice.end <= changed_at_) return;
  fastest_ = std::min(fastest_, round_trip);
  if (judge_at_ == 0) judge_at_ = sent_bytes_;
  if (acked_bytes_ >= judge_at_) Adjust();
}

void BulkWindow::Adjust() {
  const bool used = 2 * in_flight_max_ >= window_bytes_;
  const double factor =
      ToSeconds(round_trip_min_ + kQueueTarget) / std::max(1e-9, ToSeconds(fastest_));
  changed_at_ = sent_bytes_;
  judge_at_ = 0;
  fastest_ = Duration::max();
  in_flight_max_ = in_flight_bytes();
  // Growth that nobody used would allow a burst later.
  if (factor > 1 && !used) return;
  const double next = static_cast<double>(window_bytes_) * std::min(factor, kGrowthMax);
  window_bytes_ =
      static_cast<std::size_t>(std::clamp(next, double{kWindowBytesMin}, double{kWindowBytesMax}));
}

}  // namespace shoal::wire
