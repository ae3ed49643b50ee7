// Activations on rows, and their gradients from the output alone, so that the input need not be
// kept. See rows.h. Gradients: dx = ..., or dx += ... with `accumulate`; dx may be dy.
#pragma once

#include <limits>

#include "base/parallel.h"
#include "kernels/rows.h"
#include "kernels/target.h"

namespace shoal::kernels {

// REQUIRES: slope >= 0 and max > 0, or the output would not tell where the input was positive.
struct ReluParams {
  float slope = 0;  // Below zero.
  float max = std::numeric_limits<float>::infinity();
};

// y = x above 0, slope * x below, max at most. NaN for NaN.
void ReluRows(const ReluParams& params, ConstRows x, Rows y, Parallel& parallel,
              Target target = BestTarget());
// dx = dy where 0 < y < max, slope * dy where y <= 0, 0 elsewhere.
void ReluRowsBackward(const ReluParams& params, ConstRows y, ConstRows dy, Rows dx, bool accumulate,
                      Parallel& parallel, Target target = BestTarget());

// y = 1 / (1 + exp(-x)); dx = dy * y * (1 - y).
void SigmoidRows(ConstRows x, Rows y, Parallel& parallel, Target target = BestTarget());
void SigmoidRowsBackward(ConstRows y, ConstRows dy, Rows dx, bool accumulate, Parallel& parallel,
                         Target target = BestTarget());

// y = tanh(x); dx = dy * (1 - y^2).
void TanhRows(ConstRows x, Rows y, Parallel& parallel, Target target = BestTarget());
void TanhRowsBackward(ConstRows y, ConstRows dy, Rows dx, bool accumulate, Parallel& parallel,
                      Target target = BestTarget());

}  // namespace shoal::kernels
