// MeasureConv: how long each of some rows takes for one pass of a shape, on made-up operands.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "kernels/conv.h"
#include "nn/conv_chooser.h"

namespace shoal::nn {

struct ConvMeasureOptions {
  double seconds = 0;  // When to stop, after a run or two of each row.
  std::size_t workspace_bytes_max = 0;
  std::size_t bytes_max = 0;  // For operands and workspace together; 0: no limit.
};

// The best run of each row, in seconds; infinity for a row that does not support the pass, wants
// too much memory, or was given up. All infinite if there is no memory for the operands.
std::vector<double> MeasureConv(std::span<const kernels::ConvImplementation* const> rows,
                                const kernels::ConvShape& shape, ConvDirection direction,
                                const ConvMeasureOptions& options,
                                const std::function<double()>& now, Parallel& parallel);

}  // namespace shoal::nn
