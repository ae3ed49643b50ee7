#include "os/net/shaped_network.h"

#include <algorithm>
#include <utility>

namespace shoal::os {

Status ShapedNetwork::Send(NodeId to, Traffic traffic, Frame frame) {
  if (frame.size() > FrameBytesMax(traffic)) {
    return {Code::kInvalidArgument, "the frame is too large"};
  }
  const Instant now = clock_.Now();
  Instant& free_at = free_at_[to];
  free_at = std::max(free_at, now);
  if (shape_.bits_per_second > 0) {
    const double seconds = 8.0 * static_cast<double>(frame.size()) / shape_.bits_per_second;
    free_at = free_at + Duration(static_cast<Duration::rep>(seconds * 1e9));
  }
  clock_.CallAt(free_at + shape_.delay, [this, to, traffic, frame = std::move(frame),
                                         alive = std::weak_ptr<int>(alive_)]() mutable {
    if (alive.expired()) return;
    (void)below_.Send(to, traffic, std::move(frame)).ok();
  });
  return {};
}

}  // namespace shoal::os
