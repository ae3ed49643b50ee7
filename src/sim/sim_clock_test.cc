// Goal: base/clock.h holds, and timers follow a clock that is wrong.
#include "sim/sim_clock.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/random.h"

namespace shoal::sim {
namespace {

using std::chrono::seconds;

void RunAll(EventQueue& queue, SimClock& clock) {
  while (queue.Peek() != nullptr) {
    const Event event = queue.Pop();
    if (clock.IsPending(event)) clock.Fire(event);
  }
}

TEST(SimClockTest, TimersRunInOrderAndEqualOnesAsTheyWereSet) {
  EventQueue queue;
  SimClock clock(queue, 0, {});
  std::string order;
  clock.CallAfter(seconds(2), [&] { order += 'c'; });
  clock.CallAfter(seconds(1), [&] { order += 'a'; });
  clock.CallAfter(seconds(1), [&] { order += 'b'; });
  RunAll(queue, clock);
  EXPECT_EQ(order, "abc");
}

TEST(SimClockTest, ACancelledTimerDoesNotRunAndOthersDo) {
  EventQueue queue;
  SimClock clock(queue, 0, {});
  std::string order;
  const TimerId gone = clock.CallAfter(seconds(1), [&] { order += 'x'; });
  clock.CallAfter(seconds(1), [&] { order += 'a'; });
  clock.Cancel(gone);
  clock.Cancel(gone);
  // The slot is used again; the old id must not reach the new timer.
  const TimerId next = clock.CallAfter(seconds(2), [&] { order += 'b'; });
  clock.Cancel(gone);
  RunAll(queue, clock);
  EXPECT_EQ(order, "ab");
  clock.Cancel(next);  // Has run: ignored.
  clock.Cancel(TimerId{});
}

TEST(SimClockTest, ATaskMaySetAndCancelTimers) {
  EventQueue queue;
  SimClock clock(queue, 0, {});
  int runs = 0;
  TimerId self{};
  self = clock.CallAfter(seconds(1), [&] {
    ++runs;
    clock.Cancel(self);
    clock.CallAt(Instant{}, [&] { ++runs; });  // Has passed: runs, but not inside this call.
    EXPECT_EQ(runs, 1);
  });
  RunAll(queue, clock);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(queue.now(), seconds(1));
}

TEST(SimClockTest, NeverIsFarAway) {
  EventQueue queue;
  SimClock clock(queue, 0, {.origin = seconds(5), .drift_per_1e9 = 300'000});
  clock.CallAt(Instant::Never(), [] { ADD_FAILURE(); });
  EXPECT_GT(queue.Peek()->at, seconds(3'000'000'000));
}

TEST(SimClockTest, ADriftingClockWakesItsTimersAtTheFirstMomentItShowsTheTime) {
  Random random(7);
  for (int round = 0; round < 500; ++round) {
    EventQueue queue;
    const ClockError error = {.origin = Duration(random.Between(0, 1'000'000'000)),
                              .drift_per_1e9 = random.Between(-100'000'000, 100'000'000)};
    SimClock clock(queue, 0, error);
    queue.AdvanceTo(Duration(random.Between(0, 1'000'000'000'000)));
    const Duration wait(random.Between(1, std::int64_t{1} << random.Between(1, 50)));
    const Instant at = clock.Now() + wait;
    const Duration set_at = queue.now();
    clock.CallAt(at, [&] {
      EXPECT_GE(clock.Now(), at);
      // Within rounding of what the rate says.
      const double expected =
          ToSeconds(wait) / (1.0 + static_cast<double>(error.drift_per_1e9) / 1e9);
      EXPECT_NEAR(ToSeconds(queue.now() - set_at), expected, 1e-9 + expected * 1e-12);
    });
    queue.AdvanceTo(queue.Peek()->at - Duration(1));
    EXPECT_LT(clock.Now(), at);
    RunAll(queue, clock);
  }
}

TEST(SimClockTest, TasksOfADeadProcessAreDestroyedAtOnce) {
  EventQueue queue;
  SimClock clock(queue, 0, {});
  auto owned = std::make_shared<int>(1);
  clock.CallAfter(seconds(1), [owned] { ADD_FAILURE() << *owned; });
  clock.DropAll();
  EXPECT_EQ(owned.use_count(), 1);
  RunAll(queue, clock);
}

}  // namespace
}  // namespace shoal::sim
