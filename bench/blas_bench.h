// The paper's comparison of libraries: all convolutions of a network, forward and backward, by
// OpenBLAS and by CLBlast, which multiply matrices of patches, and by our own kernels.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/gemm_bench.h"
#include "bench/report.h"

namespace shoal::bench {

struct BlasBenchOptions {
  std::size_t threads = 2;
  std::string net;     // Or all.
  bool quick = false;  // Some layers of each, and short turns.
  bool opencl = true;  // If there is a device; CLBlast takes minutes on a CPU.
};

std::vector<std::string> BlasBenchNets();

// Milliseconds of one iteration's convolutions at the batch of the paper. A library that has no
// pass for some layer is left out for that network. REQUIRES: a net of BlasBenchNets(), or none.
Report RunBlasBench(const BlasBenchOptions& options, const MakeParallel& make_parallel);

}  // namespace shoal::bench
