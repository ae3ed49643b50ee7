// GradientPlan: gradients in the order in which backward finishes them, cut into buckets that can
// be sent while the rest is still being computed. Pure functions of a network: the same on all
// devices, whatever their memory, batch and number of workers are.
//
//   GradientPlan plan = PlanGradients(net.graph(), params, 4 << 20);
//   params.OrderGradients(plan.order);         // Before they are allocated.
//   const auto steps = StepsOfStages(plan, net.plan());
//   net.BackwardSteps(0, steps[0], {});        // Now the buckets of stage 0 are whole, …
//   net.BackwardSteps(steps[0], steps[1], {}); // … and those of stage 1.
//
// Only what a solver changes and backward computes is in a bucket: no statistics, nothing whose
// lr_mult is 0.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "nn/graph.h"
#include "nn/param_store.h"
#include "nn/plan.h"

namespace shoal::nn {

// Floats [begin, end) of ParamStore::gradients(), gaps between parameters included. A large
// parameter is in several.
struct GradientBucket {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t stage = 0;  // Whole after this one; they do not decrease.
  bool operator==(const GradientBucket&) const = default;
};

struct GradientPlan {
  std::vector<ParamId> order;  // For ParamStore::OrderGradients.
  std::vector<GradientBucket> buckets;
  // Backward is cut into stages, each after the node that finishes one bucket or several.
  std::vector<std::size_t> stages;
  std::size_t floats() const { return buckets.empty() ? 0 : buckets.back().end; }
  bool operator==(const GradientPlan&) const = default;
};

// Buckets of about `bytes` each, all of one size but the last. REQUIRES: `graph` was built with
// backward on `params`; bytes > 0.
GradientPlan PlanGradients(const Graph& graph, const ParamStore& params, std::size_t bytes);

// For each stage the number of backward steps after which it is done; for the last, all. `plan` is
// of a network with the same layers: its batch and what it recomputes may be others.
std::vector<std::size_t> StepsOfStages(const GradientPlan& gradients, const Plan& plan);

}  // namespace shoal::nn
