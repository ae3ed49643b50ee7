// Dropout whose mask is a function of (seed, iteration, element), so that no mask is stored: the
// backward pass makes the same one. The same bits on every target and with any workers. See rows.h.
#pragma once

#include <cstdint>

#include "base/parallel.h"
#include "kernels/rows.h"
#include "kernels/target.h"

namespace shoal::kernels {

struct DropoutMask {
  float ratio = 0.5F;           // What is dropped. REQUIRES: 0 <= ratio < 1.
  std::uint64_t seed = 0;       // The layer's own,
  std::uint64_t iteration = 0;  // and of the batch: other numbers give unrelated masks.
};

// y = x / (1 - ratio) where an element is kept, else 0; with `accumulate`, y += it. Forward with x,
// backward with dy for x. Elements are counted row by row, without what lies between rows. y may
// be x.
void Dropout(const DropoutMask& mask, ConstRows x, Rows y, bool accumulate, Parallel& parallel,
             Target target = BestTarget());

}  // namespace shoal::kernels
