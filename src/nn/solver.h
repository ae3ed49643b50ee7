// Solver: turns gradients into better parameters, by Caffe's rules in Caffe's order: gradients of
// iter_size micro-batches are summed, clipped as a whole, divided by iter_size, regularised, and
// then applied with the rate of this iteration times the parameter's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/parallel.h"
#include "base/status.h"
#include "nn/lr_schedule.h"
#include "nn/param_store.h"
#include "nn/solver_def.h"
#include "tensor/aligned_buffer.h"

namespace shoal::nn {

class Solver {
 public:
  // kInvalidArgument: numbers that make no sense together. REQUIRES: `params` are allocated, with
  // gradients, and do not change any more.
  static Result<std::unique_ptr<Solver>> Make(const SolverDef& def, ParamStore& params,
                                              Parallel& parallel);

  const SolverDef& def() const { return def_; }
  // Updates done so far.
  std::int64_t iteration() const { return iteration_; }
  // Of the last Update, or before the first of the one to come.
  float rate() const { return rate_; }

  // One update with the gradients that `params` hold: the sum over iter_size micro-batches.
  // `loss` is for the plateau policy.
  void Update(double loss) { Update(loss, params_.gradients(), def_.iter_size); }
  // The same with other gradients, which lie as those of `params` do: the sum over `parts` equal
  // parts of the images of an update, however it was cut. What is clipped is as large as Caffe's:
  // iter_size times the mean. REQUIRES: as many; parts > 0.
  void Update(double loss, std::span<const float> gradients, std::int64_t parts);

  // What a snapshot keeps. Histories are as many arrays as Caffe has (one per parameter, two for
  // AdaDelta and Adam), in memory order.
  std::size_t histories() const { return per_param_ * params_.size(); }
  std::span<float> history(std::size_t index);
  // All of them, with gaps of zeros.
  std::span<float> all_histories();
  // The parameter whose history it is.
  ParamId history_param(std::size_t index) const { return ParamId{index % params_.size()}; }
  const LrSchedule::State& schedule_state() const { return schedule_.state(); }
  void Restore(std::int64_t iteration, const LrSchedule::State& state);

 private:
  Solver(const SolverDef& def, LrSchedule schedule, ParamStore& params, Parallel& parallel)
      : def_(def), schedule_(std::move(schedule)), params_(params), parallel_(parallel) {}

  // 1 / parts, times what clipping asks for.
  float GradientScale(std::span<const float> gradients, std::int64_t parts);
  std::span<const float> GradientOf(ParamId id, std::span<const float> gradients) const;
  float LocalRate(ParamId id, float scale, std::span<const float> gradient);
  void UpdateParam(ParamId id, float scale, std::span<const float> gradient);
  void CorrectMomentum(float rate_before);

  SolverDef def_;
  LrSchedule schedule_;
  ParamStore& params_;
  Parallel& parallel_;
  std::size_t per_param_ = 1;
  AlignedBuffer history_;
  std::int64_t iteration_ = 0;
  float rate_ = 0;
};

}  // namespace shoal::nn
