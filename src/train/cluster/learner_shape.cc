#include "train/cluster/learner_shape.h"

#include "train/cluster/worker_job.h"

namespace shoal::train {

LearnerShape DescribeShape(Learner& learner) {
  LearnerShape shape{.fingerprint = ShapeOf(learner)};
  for (const Bucket& bucket : learner.buckets()) shape.buckets.push_back(bucket.end - bucket.begin);
  return shape;
}

}  // namespace shoal::train
