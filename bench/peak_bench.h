// What the hardware allows: the limit in the reports of the other benchmarks.
#pragma once

#include "base/parallel.h"
#include "bench/interleave.h"
#include "kernels/target.h"

namespace shoal::bench {

// GFLOP/s of multiply-adds alone, on all workers at once.
double PeakGflops(Parallel& parallel, kernels::Target target, const Effort& effort);

}  // namespace shoal::bench
