// What a TrainJob (proto/train.proto) means: the solver and the network that a worker builds. The
// head reads its own job in the same way, so that there are no two opinions. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "train/cluster/net_learner.h"
#include "train/feed.h"
#include "wire/control.h"

namespace shoal::train {

// Of all workers in a step, or of one.
inline constexpr std::int64_t kStepSamplesMax = std::int64_t{1} << 20U;

// kInvalidArgument, kCorruption: as the files' readers say it; or options that make no sense.
Result<NetLearnerSetup> ReadJob(const wire::pb::TrainJob& job);

// Reads the files that came with the job, by the names that the network uses. `job` outlives it.
ReadFile FilesOf(const wire::pb::TrainJob& job);

}  // namespace shoal::train
