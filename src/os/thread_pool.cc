#include "os/thread_pool.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "os/futex.h"
#include "os/machine/affinity.h"

namespace shoal::os {
namespace {

// Chunks per worker: with 16, the last one to finish makes the others wait for at most
// about 6 % of its share, and the counter is touched too rarely to be felt.
constexpr std::size_t kChunksPerWorker = 16;

// Whether this thread is inside a task: a Run from there would wait for itself.
thread_local bool in_task = false;  // NOLINT: one a thread, not global

// True once `done` is; false if it is not within ThreadPool::kSpin. Reading the clock
// (some 25 ns) is the pause between two looks at a line that another core writes.
template <class Done>
bool SpinUntil(Done done) {
  using SteadyClock = std::chrono::steady_clock;
  const SteadyClock::time_point end = SteadyClock::now() + ThreadPool::kSpin;
  do {
    if (done()) return true;
  } while (SteadyClock::now() < end);
  return done();
}

}  // namespace

ThreadPool::ThreadPool(const PoolPlan& plan) : plan_(plan) {
  SHOAL_CHECK_GE(plan_.threads, 1U);
  SHOAL_CHECK_LE(plan_.threads, kPoolThreadsMax);
  threads_.reserve(plan_.threads - 1);
  for (std::size_t worker = 1; worker < plan_.threads; ++worker) {
    threads_.emplace_back([this, worker] { WorkerMain(worker); });
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_relaxed);
  opened_.fetch_add(1, std::memory_order_seq_cst);
  FutexWake(opened_, static_cast<int>(kPoolThreadsMax));
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::PinCaller() const {
  // Unpinned is slower, not wrong.
  if (!plan_.cores.empty()) (void)PinThisThread(plan_.cores.front());
}

void ThreadPool::Run(std::size_t count, TaskRef task) {
  SHOAL_CHECK(!in_task);
  MutexLock lock(run_mutex_);
  in_task = true;
  if (count <= 1 || plan_.threads == 1) {
    for (std::size_t i = 0; i < count; ++i) task(i, 0);
  } else {
    Open(count, task);
    Work(0);
    CloseAndWait();
  }
  in_task = false;
}

void ThreadPool::Open(std::size_t count, const TaskRef& task) {
  region_.task = &task;
  region_.count = count;
  region_.chunk = std::max<std::size_t>(1, count / (plan_.threads * kChunksPerWorker));
  region_.chunks = (count - 1) / region_.chunk + 1;
  next_chunk_.store(0, std::memory_order_relaxed);
  // Nobody else writes region_state_ now: the last region is closed and empty.
  const std::uint32_t last = region_state_.load(std::memory_order_relaxed);
  const std::uint32_t number = (last & ~(kNumberUnit - 1)) + kNumberUnit;
  region_state_.store(number | kOpen, std::memory_order_release);
  // seq_cst here and in AwaitOpen: either the worker that falls asleep sees the new
  // number, or this thread sees the sleeper.
  opened_.fetch_add(1, std::memory_order_seq_cst);
  const std::uint32_t sleepers = sleepers_.load(std::memory_order_seq_cst);
  if (sleepers == 0) return;
  FutexWake(opened_, static_cast<int>(std::min<std::size_t>(sleepers, region_.chunks - 1)));
}

void ThreadPool::CloseAndWait() {
  std::uint32_t state = region_state_.fetch_and(~kOpen, std::memory_order_acq_rel);
  const auto empty = [&] {
    state = region_state_.load(std::memory_order_acquire);
    return (state & kInsideMask) == 0;
  };
  if (empty() || (plan_.spin && SpinUntil(empty))) return;
  region_state_.fetch_or(kCallerSleeps, std::memory_order_acq_rel);
  while (!empty()) FutexWait(region_state_, state);
}

void ThreadPool::Work(std::size_t worker) {
  const Region region = region_;
  while (true) {
    const std::size_t chunk = next_chunk_.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= region.chunks) return;
    const std::size_t begin = chunk * region.chunk;
    const std::size_t end = begin + std::min(region.chunk, region.count - begin);
    for (std::size_t i = begin; i < end; ++i) (*region.task)(i, worker);
  }
}

void ThreadPool::WorkerMain(std::size_t worker) {
  // Unpinned is slower, not wrong.
  if (!plan_.cores.empty()) (void)PinThisThread(plan_.cores[worker]);
  in_task = true;  // All that this thread ever does.
  std::uint32_t seen = 0;
  while (true) {
    seen = AwaitOpen(seen);
    if (stop_.load(std::memory_order_relaxed)) return;
    if (!Join()) continue;
    Work(worker);
    Leave();
  }
}

std::uint32_t ThreadPool::AwaitOpen(std::uint32_t seen) {
  const auto changed = [&] { return opened_.load(std::memory_order_acquire) != seen; };
  if (plan_.spin && SpinUntil(changed)) return opened_.load(std::memory_order_acquire);
  while (true) {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    FutexWait(opened_, seen);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    if (changed()) return opened_.load(std::memory_order_acquire);
  }
}

bool ThreadPool::Join() {
  std::uint32_t state = region_state_.load(std::memory_order_relaxed);
  while ((state & kOpen) != 0) {
    if (region_state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

void ThreadPool::Leave() {
  // acq_rel: the caller sees what this worker wrote, and the last to leave passes on
  // what the others wrote.
  const std::uint32_t before = region_state_.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & kInsideMask) == 1 && (before & kCallerSleeps) != 0) FutexWake(region_state_, 1);
}

}  // namespace shoal::os
