// ThreadPool: the process's compute threads behind base/parallel.h. One per process: a
// second one would fight it for the cores.
//
// The caller of Run takes part as worker 0. Tasks are handed out in chunks from one
// counter, so a slow or preempted core takes fewer. The caller waits only for workers
// that have begun a chunk: one that has not woken up yet, because it sleeps or its core
// is taken away, delays nobody.
//
// Workers without work spin for kSpin and then sleep (if the plan lets them spin):
// between the kernels of one layer they stay awake, between requests they cost nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/parallel.h"
#include "base/thread_annotations.h"
#include "base/time.h"
#include "os/pool_plan.h"

namespace shoal::os {

class ThreadPool final : public Parallel {
 public:
  // Starts the threads. Pinning is an attempt: where it is refused, they run unpinned.
  explicit ThreadPool(const PoolPlan& plan);
  // REQUIRES: no Run is under way.
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::size_t workers() const override { return plan_.threads; }

  // May be called from several threads; one after the other gets the pool. A task that
  // calls Run is a bug and aborts.
  void Run(std::size_t count, TaskRef task) override SHOAL_EXCLUDES(run_mutex_);

  // Pins the calling thread to the core that the plan keeps for the caller of Run, so
  // that it does not sit on a worker's. For the one thread that computes; does nothing
  // if the plan does not pin.
  void PinCaller() const;

  // Two spinning threads meet in 1 µs, a sleeper comes 20 to 30 µs late (x86 VM; phones are
  // slower): spinning pays for about that long, and 50 µs bounds what it can waste.
  static constexpr Duration kSpin = std::chrono::microseconds(50);

 private:
  // What Run shares with workers while it lasts. Written by Run before it opens the
  // region and after it has closed; read by workers in between.
  struct Region {
    const TaskRef* task = nullptr;
    std::size_t count = 0;
    std::size_t chunk = 1;  // Tasks in a chunk; the last may have fewer.
    std::size_t chunks = 0;
  };

  // region_state_ holds: the region's number (high bits), whether it is open to workers,
  // whether the caller sleeps until it is empty, and how many workers are inside. The
  // number is there so that joining fails if the region changed after it was looked at.
  static constexpr std::uint32_t kInsideMask = 0xffff;
  static constexpr std::uint32_t kOpen = 1U << 16U;
  static constexpr std::uint32_t kCallerSleeps = 1U << 17U;
  static constexpr std::uint32_t kNumberUnit = 1U << 18U;
  static_assert(kPoolThreadsMax <= kInsideMask);

  void Open(std::size_t count, const TaskRef& task) SHOAL_REQUIRES(run_mutex_);
  void CloseAndWait() SHOAL_REQUIRES(run_mutex_);
  void Work(std::size_t worker);
  void WorkerMain(std::size_t worker);
  // Returns when the number of calls of Open differs from `seen`, and that number.
  std::uint32_t AwaitOpen(std::uint32_t seen);
  bool Join();
  void Leave();

  const PoolPlan plan_;

  Mutex run_mutex_;  // Held by the Run that has the pool.
  Region region_;    // Guarded by region_state_, see Region.

  // On lines of their own: each is hammered by all cores while the others are read.
  alignas(64) std::atomic<std::uint32_t> region_state_{0};
  alignas(64) std::atomic<std::size_t> next_chunk_{0};
  alignas(64) std::atomic<std::uint32_t> opened_{0};  // Calls of Open, and one to stop.
  std::atomic<std::uint32_t> sleepers_{0};            // Workers that sleep on opened_.
  std::atomic<bool> stop_{false};

  std::vector<std::thread> threads_;  // Last: they use everything above.
};

}  // namespace shoal::os
