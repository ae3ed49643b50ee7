#include "coordinator/pause_log.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace shoal::coordinator {

std::string Pause::ToString() const {
  std::array<char, 160> line{};
  std::snprintf(line.data(), line.size(),
                "answers went on after %.2f s: noticed after %.2f, layers there after %.2f, "
                "replayed in %.2f",
                ToSeconds(total()), ToSeconds(detect), ToSeconds(load), ToSeconds(replay));
  return line.data();
}

void PauseLog::Stopped(Instant alive, Instant now) {
  if (!open_) open_ = {.alive = std::min(alive, now), .stopped = now};
  open_->resumed.reset();
}

void PauseLog::Resumed(Instant now) {
  if (open_) open_->resumed = now;
}

std::optional<Pause> PauseLog::Drawn(Instant now) {
  if (!open_ || !open_->resumed) return std::nullopt;
  const Pause pause = {.detect = open_->stopped - open_->alive,
                       .load = *open_->resumed - open_->stopped,
                       .replay = now - *open_->resumed};
  open_.reset();
  return pause;
}

}  // namespace shoal::coordinator
