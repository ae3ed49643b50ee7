// Batch normalisation over the rows of a matrix, for training, with the ReLU and the sum of a
// residual block folded in so that each pass reads and writes each matrix once. See rows.h.
//
// A step forward: BatchMeanVariance, BatchNormFactors, BatchNormApply. Backward:
// BatchNormBackwardSums, then BatchNormBackwardApply (or, with frozen statistics,
// BatchNormBackwardFrozen).
#pragma once

#include <cstddef>
#include <span>

#include "base/parallel.h"
#include "kernels/rows.h"
#include "kernels/target.h"

namespace shoal::kernels {

// Floats of scratch for BatchMeanVariance and BatchNormBackwardSums.
std::size_t BatchNormScratchFloats(std::size_t rows, std::size_t channels);

// The mean and the biased variance (divided by rows) of each channel. Sums are shifted by a row of
// x, so a mean far from zero costs no digits of the variance. REQUIRES: x.rows > 0.
void BatchMeanVariance(ConstRows x, std::span<float> mean, std::span<float> variance,
                       std::span<float> scratch, Parallel& parallel, Target target = BestTarget());

// Per channel: inv_std = 1 / sqrt(variance + epsilon), scale = gamma * inv_std,
// shift = beta - mean * scale, in double. gamma may be empty for ones, beta for zeros.
void BatchNormFactors(std::span<const float> mean, std::span<const float> variance, float epsilon,
                      std::span<const float> gamma, std::span<const float> beta,
                      std::span<float> inv_std, std::span<float> scale, std::span<float> shift);

// y = x * scale + shift (+ residual), negative values made 0 if `relu`. A residual without data is
// none. y may be x or the residual.
void BatchNormApply(ConstRows x, std::span<const float> scale, std::span<const float> shift,
                    ConstRows residual, bool relu, Rows y, Parallel& parallel,
                    Target target = BestTarget());

struct BatchNormBackwardSumsArgs {
  ConstRows x;   // What was normalised,
  ConstRows dy;  // and the gradient of the result.
  ConstRows y;   // With ReLU, its output: dy counts where y > 0. Without, no data.
  std::span<const float> mean;
  std::span<const float> inv_std;
  // Receives dy where it counts: the gradient of the residual, or of the input of the ReLU. May be
  // dy itself (if not accumulated to); no data if nobody wants it.
  Rows masked;
  bool accumulate_masked = false;
  std::span<float> sum_dy;       // The sum over rows of dy: beta's gradient,
  std::span<float> sum_dy_xhat;  // and of dy * (x - mean) * inv_std: gamma's.
};
void BatchNormBackwardSums(const BatchNormBackwardSumsArgs& args, std::span<float> scratch,
                           Parallel& parallel, Target target = BestTarget());

struct BatchNormBackwardApplyArgs {
  ConstRows x;
  ConstRows dy;
  ConstRows y;                  // As above; no data also if dy was masked already.
  std::span<const float> mean;  // Per channel, as are all spans.
  std::span<const float> inv_std;
  std::span<const float> gamma;   // Empty for ones.
  std::span<const float> sum_dy;  // From BatchNormBackwardSums.
  std::span<const float> sum_dy_xhat;
  Rows dx;  // May be dy or x.
  bool accumulate = false;
};
// dx = gamma * inv_std * (dy - sum_dy / rows - xhat * sum_dy_xhat / rows).
// REQUIRES: scratch holds 3 floats per channel.
void BatchNormBackwardApply(const BatchNormBackwardApplyArgs& args, std::span<float> scratch,
                            Parallel& parallel, Target target = BestTarget());

// With statistics that are constants: dx = dy * scale, where y > 0 if y has data. dx may be dy.
void BatchNormBackwardFrozen(ConstRows dy, ConstRows y, std::span<const float> scale, Rows dx,
                             bool accumulate, Parallel& parallel, Target target = BestTarget());

}  // namespace shoal::kernels
