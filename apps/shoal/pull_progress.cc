#include "shoal/pull_progress.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace shoal {

std::string ProgressText(const std::string& name, std::uint64_t bytes,
                         std::optional<std::uint64_t> size, double bytes_per_s) {
  const double done = static_cast<double>(bytes);
  std::string text = fmt::format("{}: {:.1f}", name, done * 1e-6);
  if (size && *size > 0) {
    const double all = static_cast<double>(*size);
    text += fmt::format(" of {:.1f} MB ({:.0f} %)", all * 1e-6, 100 * done / all);
  } else {
    text += " MB";
  }
  if (bytes_per_s < 1) return text;
  text += fmt::format(", {:.1f} MB/s", bytes_per_s * 1e-6);
  if (!size || *size < bytes) return text;
  const double seconds = std::min(static_cast<double>(*size - bytes) / bytes_per_s, 359999.0);
  const auto whole = static_cast<std::uint64_t>(seconds);
  if (whole >= 3600) {
    return text + fmt::format(", {}:{:02}:{:02} left", whole / 3600, whole / 60 % 60, whole % 60);
  }
  return text + fmt::format(", {}:{:02} left", whole / 60, whole % 60);
}

Progress::Progress(const Clock& clock, std::string name, bool terminal, bool quiet)
    : clock_(clock), name_(std::move(name)), terminal_(terminal), quiet_(quiet) {}

void Progress::Measure(std::uint64_t bytes, Instant now) {
  if (!measuring_ || bytes < measured_bytes_) {
    measuring_ = true;
    measured_at_ = now;
    measured_bytes_ = bytes;
    return;
  }
  const double seconds = ToSeconds(now - measured_at_);
  if (seconds < 1) return;
  const double rate = static_cast<double>(bytes - measured_bytes_) / seconds;
  // Follows a change within a few seconds without jumping about.
  bytes_per_s_ = bytes_per_s_ == 0 ? rate : 0.7 * bytes_per_s_ + 0.3 * rate;
  measured_at_ = now;
  measured_bytes_ = bytes;
}

void Progress::Update(std::uint64_t bytes, std::optional<std::uint64_t> size) {
  const Instant now = clock_.Now();
  const bool first = !measuring_;
  Measure(bytes, now);
  if (quiet_) return;
  const Duration passed = now - shown_at_;
  const bool tenth = size && bytes >= shown_bytes_ && bytes - shown_bytes_ >= *size / 10;
  const bool due = terminal_ ? passed >= std::chrono::milliseconds(200)
                             : passed >= std::chrono::seconds(30) ||
                                   (tenth && passed >= std::chrono::seconds(1));
  if (first && !terminal_) shown_at_ = now;
  if (!due || (first && !terminal_)) return;
  shown_at_ = now;
  shown_bytes_ = bytes;
  const std::string text = ProgressText(name_, bytes, size, bytes_per_s_);
  if (terminal_) {
    fmt::print(stderr, "\r{}\x1b[K", text);
    line_open_ = true;
  } else {
    fmt::print(stderr, "{}\n", text);
  }
}

void Progress::Say(const std::string& text) {
  if (quiet_) return;
  End();
  fmt::print(stderr, "{}\n", text);
}

void Progress::End() {
  if (line_open_) fmt::print(stderr, "\r\x1b[K");
  line_open_ = false;
}

}  // namespace shoal
