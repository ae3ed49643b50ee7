// How solvers change weights: Caffe's formulas, each in one pass over flat arrays of one length.
// What a solver keeps between steps (its history) is the caller's, zero at first. Work is cut over
// `parallel`; results do not depend on it. `target` is for tests.
#pragma once

#include <cstdint>
#include <span>

#include "base/parallel.h"
#include "kernels/target.h"

namespace shoal::kernels {

// What all of them do with a gradient first: g = scale * g + l2 * w + l1 * sign(w).
struct GradientTerms {
  float scale = 1;  // One over iter_size, times that of clipping.
  float l2 = 0;     // Weight decay of either kind.
  float l1 = 0;
};

// A parameter: its gradient is only read.
struct UpdateArrays {
  std::span<const float> g;
  std::span<float> w;
};

// v = momentum * v + rate * g; w -= v.
void SgdUpdate(const GradientTerms& terms, float rate, float momentum, UpdateArrays arrays,
               std::span<float> v, Parallel& parallel, Target target = BestTarget());

// v' = momentum * v + rate * g; w -= (1 + momentum) * v' - momentum * v; v = v'.
void NesterovUpdate(const GradientTerms& terms, float rate, float momentum, UpdateArrays arrays,
                    std::span<float> v, Parallel& parallel, Target target = BestTarget());

// h += g^2; w -= rate * g / (sqrt(h) + delta).
void AdaGradUpdate(const GradientTerms& terms, float rate, float delta, UpdateArrays arrays,
                   std::span<float> h, Parallel& parallel, Target target = BestTarget());

// h = decay * h + (1 - decay) * g^2; w -= rate * g / (sqrt(h) + delta).
void RmsPropUpdate(const GradientTerms& terms, float rate, float decay, float delta,
                   UpdateArrays arrays, std::span<float> h, Parallel& parallel,
                   Target target = BestTarget());

// h = momentum * h + (1 - momentum) * g^2; u = g * sqrt((h2 + delta) / (h + delta));
// h2 = momentum * h2 + (1 - momentum) * u^2; w -= rate * u.
void AdaDeltaUpdate(const GradientTerms& terms, float rate, float momentum, float delta,
                    UpdateArrays arrays, std::span<float> h, std::span<float> h2,
                    Parallel& parallel, Target target = BestTarget());

struct AdamParams {
  float beta1;
  float beta2;
  float delta;
  std::int64_t step;  // 1 for the first.
};
// m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g^2;
// w -= rate * sqrt(1 - beta2^step) / (1 - beta1^step) * m / (sqrt(v) + delta).
void AdamUpdate(const GradientTerms& terms, float rate, const AdamParams& params,
                UpdateArrays arrays, std::span<float> m, std::span<float> v, Parallel& parallel,
                Target target = BestTarget());

// For norms of gradients and weights (clipping, LARS): the sum of squares, in double.
double SumOfSquares(std::span<const float> x, Parallel& parallel, Target target = BestTarget());

}  // namespace shoal::kernels
