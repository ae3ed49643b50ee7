// CutLayers: for nodes in a given order, which of them to use and where to cut the model, so that a
// round takes the least time and no stage is slower than a bound. Dynamic programming, exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "pipeline/plan_costs.h"

namespace shoal::pipeline {

// What a node that is to be avoided costs, in seconds: more than any route without one.
inline constexpr double kAvoidCost = 1e12;

struct CutBound {
  double rows = 1;
  double slowest = std::numeric_limits<double>::infinity();  // No stage takes longer.
  std::size_t stages = 0;                                    // So many; 0: any number.
};

struct CutRoute {
  std::vector<PlacedStage> stages;  // Empty: the layers do not fit.
  std::size_t uncovered = 0;        // Layers that found no place; 0: it has stages.
  std::uint64_t steps = 0;
};

CutRoute CutLayers(const PlanCosts& costs, const std::vector<std::size_t>& order,
                   const CutBound& bound);

}  // namespace shoal::pipeline
