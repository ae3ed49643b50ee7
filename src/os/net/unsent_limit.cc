#include <algorithm>
#include <bit>
#include <chrono>

#include "os/net/unsent_limit_internal.h"

namespace shoal::os {
namespace {

// Of the link, how much the kernel may hold: longer than a process waits for its turn on a busy
// machine, shorter than anybody notices.
constexpr double kHeldSeconds = 0.012;
constexpr Duration kMeasureFor = std::chrono::milliseconds(20);

}  // namespace

bool UnsentLimit::OnFull(Instant now) {
  if (full_at_ && now - *full_at_ < kMeasureFor) return false;
  const std::size_t before = bytes_;
  if (full_at_) {
    const double rate = static_cast<double>(written_) / ToSeconds(now - *full_at_);
    const double held = std::min(rate * kHeldSeconds, static_cast<double>(kBytesMax));
    bytes_ = std::max(std::bit_floor(static_cast<std::size_t>(held)), kBytesMin);
  }
  full_at_ = now;
  written_ = 0;
  return bytes_ != before;
}

}  // namespace shoal::os
