// The largest batch that fits a memory budget.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "base/status.h"
#include "train/model.h"

namespace shoal::train {

// More images at a time than any device gains from.
inline constexpr std::int64_t kBatchMax = 4096;

// What a model needs beside its arena: parameters, gradients and history (`copies` of the
// parameters), batches loaded ahead.
std::size_t FixedBytes(const Model& model, std::size_t param_floats, std::size_t copies,
                       std::int64_t batch);

// The largest batch of `model`, trained, for which everything fits `bytes_max`, without
// recomputing more than costs a few percent. kResourceExhausted: not even one image fits.
// The answer does not depend on how convolutions are computed, so that they need not be measured
// for every batch tried; what they want to work in may still make it a little too large.
Result<std::int64_t> LargestBatch(const Model& model, std::size_t bytes_max, std::size_t copies,
                                  Parallel& parallel);

// Bytes of the arena of `model` for forward only, at the batch of its file.
Result<std::size_t> TestArenaBytes(const Model& model, Parallel& parallel);

}  // namespace shoal::train
