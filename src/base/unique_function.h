// UniqueFunction<R(Args...)>: a callable that may own move-only things, such as
// the tensors a job works on. std::function cannot (it must be copyable), and
// std::move_only_function is C++23.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace shoal {

template <class Signature>
class UniqueFunction;

template <class R, class... Args>
class UniqueFunction<R(Args...)> {
 public:
  UniqueFunction() = default;
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, UniqueFunction> &&
           std::is_invocable_r_v<R, F&, Args...>)
      UniqueFunction(F&& f)  // NOLINT: implicit, so that a lambda can be passed
      : callable_(std::make_unique<Callable<std::remove_cvref_t<F>>>(
            std::remove_cvref_t<F>(std::forward<F>(f)))) {}

  explicit operator bool() const { return callable_ != nullptr; }

  // REQUIRES: holds a callable.
  R operator()(Args... args) {
    SHOAL_CHECK(callable_ != nullptr);
    return callable_->Call(std::forward<Args>(args)...);
  }

 private:
  struct Base {
    Base() = default;
    Base(const Base&) = delete;
    Base& operator=(const Base&) = delete;
    virtual ~Base() = default;
    virtual R Call(Args... args) = 0;
  };
  template <class F>
  struct Callable final : Base {
    explicit Callable(F callable) : f(std::move(callable)) {}
    R Call(Args... args) override { return f(std::forward<Args>(args)...); }
    F f;
  };
  std::unique_ptr<Base> callable_;
};

}  // namespace shoal
