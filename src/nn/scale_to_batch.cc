#include "nn/scale_to_batch.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace shoal::nn {

Result<SolverDef> ScaleToBatch(const SolverDef& def, std::int64_t from_batch,
                               std::int64_t to_batch) {
  if (from_batch < 1 || to_batch < 1) {
    return Status(Code::kInvalidArgument, "solver: cannot go from a batch of " +
                                              std::to_string(from_batch) + " to one of " +
                                              std::to_string(to_batch));
  }
  const double times = static_cast<double>(to_batch) / static_cast<double>(from_batch);
  const auto rate = [&](float& value) { value = static_cast<float>(value * times); };
  const auto iterations = [&](std::int64_t& count) {
    if (count <= 0) return;  // Not used.
    count = std::max<std::int64_t>(std::llround(static_cast<double>(count) / times), 1);
  };
  SolverDef scaled = def;
  rate(scaled.base_lr);
  rate(scaled.min_lr);
  for (std::int64_t* count : {&scaled.stepsize, &scaled.warmup_iter, &scaled.max_iter,
                              &scaled.test_interval, &scaled.snapshot}) {
    iterations(*count);
  }
  for (std::int64_t& count : scaled.stepvalues) iterations(count);
  for (std::int64_t& count : scaled.plateau_winsize) iterations(count);
  // Policies in which gamma is per iteration.
  if (def.lr_policy == LrPolicy::kExp) {
    scaled.gamma = static_cast<float>(std::pow(def.gamma, times));
  }
  if (def.lr_policy == LrPolicy::kInv || def.lr_policy == LrPolicy::kSigmoid) rate(scaled.gamma);
  return scaled;
}

Status ApplyLargeBatch(const LargeBatch& wish, std::int64_t batch, SolverDef& solver) {
  if (wish.scaled_from > 0) {
    SHOAL_ASSIGN_OR_RETURN(solver, ScaleToBatch(solver, wish.scaled_from, batch));
  }
  if (wish.warmup > 0) solver.warmup_iter = wish.warmup;
  if (wish.lars > 0) solver.lars = LarsDef{.clip = false, .eta = static_cast<float>(wish.lars)};
  solver.momentum_correction = wish.momentum_correction;
  return {};
}

}  // namespace shoal::nn
