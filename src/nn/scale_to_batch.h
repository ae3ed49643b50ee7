// The solver of a network for another number of images a step: rates in proportion to it (the
// linear scaling rule of Goyal et al., "Accurate, large minibatch SGD"), and everything that is
// counted in iterations so that it happens after as many images as before. Pure.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "nn/solver_def.h"

namespace shoal::nn {

// Images a step, all workers and iter_size included. warmup_start_lr stays: it is a rate to begin
// with that the small batch could bear. kInvalidArgument: a batch that is not positive.
Result<SolverDef> ScaleToBatch(const SolverDef& def, std::int64_t from_batch,
                               std::int64_t to_batch);

// What large batches want beside a scaled rate; 0 and false: as the solver has it.
struct LargeBatch {
  std::int64_t scaled_from = 0;  // The batch that the solver was written for.
  std::int64_t warmup = 0;       // Iterations.
  double lars = 0;               // Eta.
  bool momentum_correction = false;
};
Status ApplyLargeBatch(const LargeBatch& wish, std::int64_t batch, SolverDef& solver);

}  // namespace shoal::nn
