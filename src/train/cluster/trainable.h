// Whether a network and a rule can be trained by several workers at all. Pure.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "caffe/net_file.h"

namespace shoal::train {

// What a step of a NetLearner is (net_learner.h).
enum class LearnerMode : std::uint8_t { kSync, kLocal, kElastic };

struct LearnerRule {
  LearnerMode mode = LearnerMode::kSync;
  std::int64_t period = 1;  // kLocal, kElastic: updates of a step (tau).
  float alpha = 0;          // kElastic: how far a worker is pulled to the common weights, …
  float beta = 0;           // … and these to the mean of the workers.
};

// kInvalidArgument: numbers that make no sense.
Status CheckRule(const LearnerRule& rule);

// kInvalidArgument, which names the layer: data from none or from several layers, or from the
// program; a loss that is no mean over samples.
Status CheckTrainable(const caffe::Network& network);

}  // namespace shoal::train
