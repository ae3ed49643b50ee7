// LrSchedule: the learning rate as a function of the iteration, by Caffe's policies:
//
//   fixed      base
//   step       base · gamma ^ floor(iter / stepsize)
//   exp        base · gamma ^ iter
//   inv        base · (1 + gamma · iter) ^ -power
//   multistep  as step, at the given iterations; one of them per iteration at most
//   poly       base · (1 - iter / max_iter) ^ power
//   sigmoid    base / (1 + exp(-gamma · (iter - stepsize)))
//   plateau    base · gamma ^ (times that the loss has not fallen for a window of iterations)
//
// During warm-up the rate rises linearly from warmup_start_lr to what the policy says; it never
// falls below min_lr.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "nn/solver_def.h"

namespace shoal::nn {

class LrSchedule {
 public:
  // What a snapshot keeps.
  struct State {
    std::int64_t current_step = 0;  // multistep and plateau: how often it has fallen.
    std::int64_t best_iteration = 0;
    double best_loss = 0;  // plateau; meaningless at best_iteration 0.
    bool operator==(const State&) const = default;
  };

  // kInvalidArgument: numbers that the policy cannot work with.
  static Result<LrSchedule> Make(const SolverDef& def);

  // The rate of `iteration`. Called once per iteration, in order, with the loss before it.
  float Next(std::int64_t iteration, double loss);
  // The rate without moving on.
  float RateAt(std::int64_t iteration) const;

  const State& state() const { return state_; }
  void set_state(const State& state) { state_ = state; }

 private:
  explicit LrSchedule(const SolverDef& def) : def_(def) {}
  double PolicyRate(std::int64_t iteration) const;

  SolverDef def_;
  State state_;
};

}  // namespace shoal::nn
