// PoolPlan: how many compute threads, on which cores, and whether they may spin.
// Decided here purely, carried out by ThreadPool (thread_pool.h).
#pragma once

#include <cstddef>
#include <vector>

#include "os/machine/cpu.h"

namespace shoal::os {

struct PoolPlan {
  std::size_t threads = 1;  // With the caller of Run.
  // The core of each worker, worker 0 being the caller; empty: not pinned.
  std::vector<int> cores;
  // Threads without work spin for a while before they sleep.
  bool spin = false;
};

struct PoolWish {
  std::size_t threads = 0;    // 0: one for each fast core (FastCoreCount in cpu.h).
  std::size_t cpus = 0;       // Leave the rest of the cores to others; 0: all are ours.
  bool power_saving = false;  // On battery: a core that spins is a core that drains.
};

// Pins and spins only if every thread has a core of its own that nobody else was
// promised: a thread that spins on a shared core keeps the work it waits for from
// running, and a pinned one cannot step aside.
PoolPlan PlanPool(const CpuInfo& cpu, const PoolWish& wish);

// More threads than any machine has cores for; a typing error should not start millions.
inline constexpr std::size_t kPoolThreadsMax = 256;

}  // namespace shoal::os
