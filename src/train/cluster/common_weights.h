// CommonWeights: what workers that train for a while on their own agree on: weights x̃, the same
// everywhere, beside each worker's own x_i (the values of the ParamStore). What is added up over
// the workers is the drift d_i = x_i - x̃; D is its mean over all workers, weighted by their
// samples.
//
//   local SGD (Stich; McMahan et al.)     x̃ += D,        x_i = x̃
//   elastic averaging (Zhang et al.)      x̃ += beta · D,  x_i -= alpha · d_i
//
// (EASGD's own beta is alpha times the number of workers, since it adds drifts up instead of
// averaging them.) Weights that no solver changes are no part of it. Arrays lie as gradients do.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "nn/gradient_buckets.h"
#include "nn/param_store.h"

namespace shoal::train {

// Belongs to one thread at a time.
class CommonWeights {
 public:
  // x̃ is what `params` hold. REQUIRES: they are allocated with gradients in the order of `plan`;
  // both arguments outlive this.
  CommonWeights(const nn::GradientPlan& plan, nn::ParamStore& params, Parallel& parallel);

  std::span<float> values() { return values_; }
  // x̃ = x_i; x_i = x̃; x̃ and x_i change places.
  void Take();
  void Give();
  void Exchange();

  // The gradients become d_i.
  void WriteDrift();
  // The gradients are d_i, `mean` is D.
  void ApplyLocal(std::span<const float> mean);
  void ApplyElastic(std::span<const float> mean, float alpha, float beta);

 private:
  std::span<float> Part(std::span<float> all, nn::ParamId id) const;

  const nn::GradientPlan& plan_;
  nn::ParamStore& params_;
  Parallel& parallel_;
  std::vector<float> values_;
};

}  // namespace shoal::train
