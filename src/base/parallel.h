// Parallel: how a kernel spreads over cores without knowing about threads.
// os/ implements it with the process's thread pool; Serial is the calling thread.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace shoal {

// A reference to a callable `void(std::size_t task, std::size_t worker)` that
// outlives the call it is passed to. Costs no allocation, which a kernel that
// runs for 20 µs would notice.
class TaskRef {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, TaskRef>)
      TaskRef(F&& f)  // NOLINT: implicit, so that a lambda can be passed
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, std::size_t task, std::size_t worker) {
          (*static_cast<std::remove_reference_t<F>*>(object))(task, worker);
        }) {}
  void operator()(std::size_t task, std::size_t worker) const { call_(object_, task, worker); }

 private:
  void* object_;
  void (*call_)(void*, std::size_t, std::size_t);
};

class Parallel {
 public:
  virtual ~Parallel() = default;

  // How many tasks can run at the same time; worker indices are below it.
  virtual std::size_t workers() const = 0;

  // Runs task(0, w) … task(count - 1, w), each once, and returns when all are done;
  // everything they wrote is then visible to the caller. Tasks must not call Run.
  virtual void Run(std::size_t count, TaskRef task) = 0;
};

class Serial final : public Parallel {
 public:
  std::size_t workers() const override { return 1; }
  void Run(std::size_t count, TaskRef task) override {
    for (std::size_t i = 0; i < count; ++i) task(i, 0);
  }
};

}  // namespace shoal
