// Placement: which node holds which layers after something changed, moving as little as possible.
// Pure.
#pragma once

#include <vector>

#include "base/status.h"
#include "pipeline/plan_costs.h"
#include "pipeline/planner.h"
#include "pipeline/replica.h"

namespace shoal::coordinator {

// `old` after some of its nodes are gone: the others keep their layers, and what is missing goes to
// a node that holds nothing, or else to neighbours. If that does not fit, or nothing is left, as
// the planner has it; its errors are the errors.
Result<std::vector<pipeline::RouteStage>> Repair(const pipeline::PlanModel& model,
                                                 const pipeline::PlanCluster& cluster,
                                                 const pipeline::PlanWish& wish,
                                                 const std::vector<pipeline::RouteStage>& old);

}  // namespace shoal::coordinator
