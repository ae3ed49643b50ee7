// The squared distance of two matrices, and its gradient. See rows.h.
#pragma once

#include "base/parallel.h"
#include "kernels/rows.h"
#include "kernels/target.h"

namespace shoal::kernels {

// The sum of (a - b)^2 over all elements.
double SquaredDistance(ConstRows a, ConstRows b, Parallel& parallel, Target target = BestTarget());

// dx = scale * (a - b), or with `accumulate` dx += it. dx may be a or b.
void ScaledDifference(float scale, ConstRows a, ConstRows b, Rows dx, bool accumulate,
                      Parallel& parallel, Target target = BestTarget());

}  // namespace shoal::kernels
