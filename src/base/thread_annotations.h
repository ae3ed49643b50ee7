// Clang checks these at compile time (-Wthread-safety); other compilers ignore
// them. Most classes here belong to one event loop and need none.
#pragma once

#include <mutex>

#ifdef __clang__
#define SHOAL_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define SHOAL_THREAD_ANNOTATION(x)
#endif

#define SHOAL_GUARDED_BY(mutex) SHOAL_THREAD_ANNOTATION(guarded_by(mutex))
#define SHOAL_REQUIRES(mutex) SHOAL_THREAD_ANNOTATION(requires_capability(mutex))
#define SHOAL_EXCLUDES(mutex) SHOAL_THREAD_ANNOTATION(locks_excluded(mutex))

namespace shoal {

// std::mutex, but known to the analysis (libstdc++'s is not annotated). Works with
// std::condition_variable_any.
class SHOAL_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void lock() SHOAL_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void unlock() SHOAL_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class SHOAL_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) SHOAL_THREAD_ANNOTATION(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() SHOAL_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace shoal
