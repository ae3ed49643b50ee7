#include "sim/sim_clock.h"

#include <limits>
#include <utility>

#include "base/check.h"

namespace shoal::sim {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// Beyond this (146 years) a timer is as good as never, and sums stay far from overflow.
constexpr std::int64_t kHorizon = std::numeric_limits<std::int64_t>::max() / 2;

// x * numerator / denominator rounded down, without a 128-bit product.
// REQUIRES: x >= 0, denominator is about 10^9 and |numerator| below it.
std::int64_t Scale(std::int64_t x, std::int64_t numerator, std::int64_t denominator) {
  const std::int64_t rest = x % denominator * numerator;
  const std::int64_t floor = rest / denominator - (rest % denominator < 0 ? 1 : 0);
  return x / denominator * numerator + floor;
}

}  // namespace

TimerId SimClock::CallAt(Instant at, UniqueFunction<void()> task) {
  SHOAL_CHECK(static_cast<bool>(task));
  const std::uint32_t slot = Allocate();
  Timer& timer = timers_[slot];
  timer.task = std::move(task);
  queue_.Push({.at = ToWorld(at),
               .node = node_,
               .subject = slot,
               .stamp = timer.generation,
               .kind = EventKind::kTimer});
  return TimerId{std::uint64_t{timer.generation} << 32U | slot};
}

std::uint32_t SimClock::Allocate() {
  if (first_free_ == kNoSlot) {
    timers_.emplace_back();
    return static_cast<std::uint32_t>(timers_.size() - 1);
  }
  const std::uint32_t slot = first_free_;
  first_free_ = std::exchange(timers_[slot].next_free, kPending);
  return slot;
}

void SimClock::Cancel(TimerId id) {
  const auto number = static_cast<std::uint64_t>(id);
  const auto slot = static_cast<std::uint32_t>(number);
  if (slot >= timers_.size() || timers_[slot].next_free != kPending) return;
  if (timers_[slot].generation != number >> 32U) return;
  (void)Release(slot);
  queue_.NoteStale(1);
}

bool SimClock::IsPending(const Event& event) const {
  const Timer& timer = timers_[event.subject];
  return timer.next_free == kPending && timer.generation == event.stamp;
}

void SimClock::Fire(const Event& event) {
  SHOAL_CHECK(IsPending(event));
  // Free before it runs: the task may set timers and cancel itself.
  UniqueFunction<void()> task = Release(event.subject);
  task();
}

void SimClock::DropAll() {
  for (std::uint32_t slot = 0; slot < timers_.size(); ++slot) {
    if (timers_[slot].next_free != kPending) continue;
    (void)Release(slot);
    queue_.NoteStale(1);
  }
}

UniqueFunction<void()> SimClock::Release(std::uint32_t slot) {
  Timer& timer = timers_[slot];
  ++timer.generation;
  timer.next_free = std::exchange(first_free_, slot);
  return std::exchange(timer.task, {});
}

Instant SimClock::ToLocal(Duration world) const {
  const std::int64_t gained = Scale(world.count(), error_.drift_per_1e9, kSecond);
  return {error_.origin + world + Duration(gained)};
}

Duration SimClock::ToWorld(Instant local) const {
  if (local.since_origin.count() >= kHorizon) return Duration(kHorizon);
  if (local <= Now()) return queue_.now();
  const std::int64_t elapsed = (local.since_origin - error_.origin).count();
  const std::int64_t drift = error_.drift_per_1e9;
  // Right up to rounding; the loops settle the last nanoseconds.
  Duration world(elapsed - Scale(elapsed, drift, kSecond + drift));
  while (ToLocal(world) < local) ++world;
  while (ToLocal(world - Duration(1)) >= local) --world;
  return world;
}

}  // namespace shoal::sim
