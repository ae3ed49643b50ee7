// The convolution benchmark: every row of our table beside oneDNN, over the convolutions of six
// networks, and what they add up to for each network.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/gemm_bench.h"
#include "bench/report.h"
#include "kernels/target.h"

namespace shoal::bench {

struct ConvBenchOptions {
  std::vector<std::size_t> threads = {2};
  kernels::Target target = kernels::BestTarget();
  bool quick = false;  // Some shapes and short turns.
  bool peers = true;
  std::string filter;  // Cases whose name contains it ("resnet-50", "3x3", "bwd-weights").
};

Report RunConvBench(const ConvBenchOptions& options, const MakeParallel& make_parallel);

}  // namespace shoal::bench
