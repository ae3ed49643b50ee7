// LearnerShape: what the learners of all workers of a training have in common, so that gradients
// can be added up and weights be copied. The head knows it from a learner of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "train/cluster/learner.h"

namespace shoal::train {

struct LearnerShape {
  std::uint64_t fingerprint = 0;            // ShapeOf (worker_job.h).
  std::vector<std::uint64_t> buckets = {};  // Floats of each.
};

LearnerShape DescribeShape(Learner& learner);

}  // namespace shoal::train
