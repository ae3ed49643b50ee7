// Samples as they travel: runs of consecutive places (proto/train.proto). Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.h"
#include "train/cluster/learner.h"
#include "wire/control.h"

namespace shoal::train {

// The samples that runs stand for. kInvalidArgument: more than anybody deals out, or beyond the
// data set.
Result<std::vector<Sample>> ReadSamples(
    const google::protobuf::RepeatedPtrField<wire::pb::SampleRun>& runs,
    const wire::pb::TrainJob& job);

// The other way.
void WriteSamples(const std::vector<Sample>& samples,
                  google::protobuf::RepeatedPtrField<wire::pb::SampleRun>& runs);
// Into how many they fall.
std::size_t CountRuns(std::span<const Sample> samples);

}  // namespace shoal::train
