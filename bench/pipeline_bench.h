// What a pipeline costs: the same answer from the engine alone, and from a cluster of a head and
// one node with all layers, on loopback, one compute thread each. With one stage there is nothing
// to gain, so what is lost is the cost of the pipeline; with plain TCP beside it, that of TLS.
#pragma once

#include <string>

#include "base/status.h"
#include "bench/report.h"

namespace shoal::bench {

struct PipelineBenchOptions {
  std::string model;  // GGUF
  std::size_t tokens = 64;
  int turns = 20;
};

// Ours is the cluster with TLS.
Result<Report> RunPipelineBench(const PipelineBenchOptions& options);

}  // namespace shoal::bench
