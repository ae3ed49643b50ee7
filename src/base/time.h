// Duration and Instant: time as values. Only a Clock (clock.h) makes Instants.
#pragma once

#include <chrono>
#include <compare>

namespace shoal {

using Duration = std::chrono::nanoseconds;

// A point on one node's monotonic clock, counted from an arbitrary origin.
// Instants of different nodes are not comparable; durations are, up to drift.
struct Instant {
  Duration since_origin{0};
  bool operator==(const Instant&) const = default;
  // Spelled out: libc++ orders durations with <=> only in its newer versions.
  constexpr auto operator<=>(const Instant& other) const {
    return since_origin.count() <=> other.since_origin.count();
  }

  // Later than everything: a deadline that never comes.
  static constexpr Instant Never() { return {Duration::max()}; }
};

constexpr Instant operator+(Instant at, Duration by) { return {at.since_origin + by}; }
constexpr Instant operator-(Instant at, Duration by) { return {at.since_origin - by}; }
constexpr Duration operator-(Instant a, Instant b) { return a.since_origin - b.since_origin; }

constexpr double ToSeconds(Duration d) { return std::chrono::duration<double>(d).count(); }
constexpr double ToMilliseconds(Duration d) { return ToSeconds(d) * 1e3; }

}  // namespace shoal
