// FindReplicas: how nodes are shared out among pipelines that each hold all layers.
#pragma once

#include <cstddef>
#include <vector>

#include "pipeline/plan_costs.h"
#include "pipeline/planner.h"
#include "pipeline/route_search.h"

namespace shoal::pipeline {

using Replicas = std::vector<std::vector<PlacedStage>>;

// How many users each replica should have so that all together get most.
std::vector<std::size_t> ShareUsers(const PlanCosts& costs, const Replicas& replicas,
                                    std::size_t users);
// What they then get, in tokens/s.
double TokensPerSecond(const PlanCosts& costs, const Replicas& replicas, std::size_t users);

// At most `replicas_max` of them over the nodes of `pool`; none: the layers do not fit. For one
// answer at a time: the best pipeline, the best of what is left, and so on. For throughput: as the
// users together get most.
Replicas FindReplicas(const PlanCosts& costs, const PlanWish& wish, std::size_t replicas_max,
                      const std::vector<std::size_t>& pool, RouteSearch& search);

}  // namespace shoal::pipeline
