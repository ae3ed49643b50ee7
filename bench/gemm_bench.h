// The GEMM benchmark: ours beside OpenBLAS and oneDNN, square problems and the shapes
// that convolutions of the ten networks have.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/parallel.h"
#include "bench/report.h"
#include "kernels/target.h"

namespace shoal::bench {

struct GemmBenchOptions {
  std::vector<std::size_t> threads = {1, 2};
  kernels::Target target = kernels::BestTarget();
  bool quick = false;  // Four shapes and short turns: seconds instead of a minute.
};

// Compute threads, made anew for each count: os::ThreadPool outside tests.
using MakeParallel = std::function<std::unique_ptr<Parallel>(std::size_t threads)>;

Report RunGemmBench(const GemmBenchOptions& options, const MakeParallel& make_parallel);

}  // namespace shoal::bench
