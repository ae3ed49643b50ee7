// Loop: the event loop of a process. It is the real Clock, it wakes up when
// sockets do (tcp_network.h), and other threads hand work to it with Post.
//
// One thread runs it; all of Clock is called on that thread. Post and Stop may be
// called from any thread.
#pragma once

#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/time.h"
#include "base/unique_function.h"

namespace shoal::os {

class Loop final : public Clock {
 public:
  Loop();
  ~Loop() override;  // Tasks and timers that have not run are dropped.
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // The system's monotonic clock, which stands still while a phone is suspended.
  Instant Now() const override;
  TimerId CallAt(Instant at, UniqueFunction<void()> task) override;
  void Cancel(TimerId id) override;

  // Runs `task` on the loop, after what is already due, never inside this call. Tasks
  // posted from one thread run in order.
  void Post(UniqueFunction<void()> task);

  // Runs events until Stop.
  void Run();
  // Makes Run return after the current event, or at once if it has not begun.
  void Stop();

  // Runs one event, waiting for it at most `limit`. False: none came.
  bool RunOne(Duration limit);
  // Runs events until `done` holds, which is asked after each. False: `limit` passed first.
  bool RunUntil(const std::function<bool()>& done, Duration limit);

 private:
  friend struct LoopInternals;  // loop_internal.h: for sockets, inside os/.
  struct Impl;
  std::unique_ptr<Impl> impl_;  // Keeps Asio out of this header.
};

}  // namespace shoal::os
