// NetWork: what computing a network costs, by its stages: for a model of devices (sim/), and for
// sharing a batch out before anything was measured. A rough count: products, and each blob and
// parameter moved once a pass.
#pragma once

#include <cstddef>
#include <vector>

#include "base/executor.h"
#include "nn/gradient_buckets.h"
#include "nn/graph.h"

namespace shoal::train {

// Of a part of a step: for every sample, and whatever their number is.
struct PartCost {
  Work per_sample;
  Work fixed;

  Work For(std::size_t samples) const;
  PartCost& operator+=(const PartCost& other);
};

struct NetWork {
  PartCost forward;
  std::vector<PartCost> backward;  // One per stage of the gradients.

  PartCost AllBackward() const;
};

// REQUIRES: `graph` was built for `batch` samples, with backward.
NetWork CountWork(const nn::Graph& graph, const nn::ParamStore& params,
                  const nn::GradientPlan& plan, std::size_t batch);

}  // namespace shoal::train
