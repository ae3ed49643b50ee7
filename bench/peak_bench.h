// What the hardware allows: the limit in the reports of the other benchmarks.
#pragma once

#include <optional>
#include <span>

#include "base/parallel.h"
#include "bench/interleave.h"
#include "kernels/target.h"

namespace shoal::bench {

// GFLOP/s of multiply-adds alone, on all workers at once.
double PeakGflops(Parallel& parallel, kernels::Target target, const Effort& effort);

// The same of 8-bit integers; nothing where we do not know how.
std::optional<double> PeakInt8Gops(Parallel& parallel, const Effort& effort);

// Reads every float once, each worker its part.
void ReadOnce(std::span<const float> floats, Parallel& parallel);

// GB/s of reading memory, on all workers at once.
double ReadGigabytes(Parallel& parallel, const Effort& effort);

}  // namespace shoal::bench
