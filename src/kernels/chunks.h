// ForChunks: how element- and row-wise kernels use several cores. Where a result does not depend
// on its neighbours, neither does it on where the work was cut.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/parallel.h"

namespace shoal::kernels {

// Elements a task works on: 64 KiB per operand stay in a phone's second-level cache, and ten
// microseconds of work or more outweigh handing it to another core.
inline constexpr std::size_t kElementsPerTask = 16384;

// Calls body(begin, end) for consecutive ranges of [0, count), each `grain` long but the last, on
// the workers of `parallel`; a single range runs on the calling thread. REQUIRES: grain > 0.
template <class Body>
void ForChunks(std::size_t count, std::size_t grain, Parallel& parallel, const Body& body) {
  if (count <= grain) {
    if (count > 0) body(std::size_t{0}, count);
    return;
  }
  parallel.Run((count + grain - 1) / grain, [&](std::size_t task, std::size_t /*worker*/) {
    body(task * grain, std::min(count, (task + 1) * grain));
  });
}

// The grain for rows of `row_size` elements.
inline std::size_t RowsPerTask(std::size_t row_size) {
  return std::max<std::size_t>(1, kElementsPerTask / std::max<std::size_t>(1, row_size));
}

}  // namespace shoal::kernels
