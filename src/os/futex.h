// The kernel's "sleep if this word still has that value": what a thread pool blocks on.
// Directly, because std::atomic::wait spins on its own before it sleeps, for a time
// that differs between libraries and cannot be switched off on battery, and because
// its wake-ups go through a table shared by the whole process.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace shoal::os {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
              std::atomic<std::uint32_t>::is_always_lock_free);

// Sleeps while `word` has the value `seen`, until FutexWake. Can return without a cause:
// the caller looks again. Gives no memory ordering; the caller's loads do.
inline void FutexWait(const std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

// Wakes up to `threads` that sleep on `word`.
inline void FutexWake(const std::atomic<std::uint32_t>& word, int threads) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

}  // namespace shoal::os
