// Placement: which node holds which layers after somebody is gone. Pure.
#pragma once

#include <vector>

#include "base/status.h"
#include "coordinator/move_search.h"
#include "pipeline/plan_costs.h"
#include "pipeline/planner.h"
#include "pipeline/replica.h"

namespace shoal::coordinator {

// `old` after some of its nodes are gone: what is missing goes to a node that holds nothing, to
// neighbours, or to both, whatever makes the best pipeline of it; the others keep their layers, as
// far as the prices have it. If that does not fit, or nothing is left, as the planner has it; its
// errors are the errors.
Result<std::vector<pipeline::RouteStage>> Repair(const pipeline::PlanModel& model,
                                                 const pipeline::PlanCluster& cluster,
                                                 const pipeline::PlanWish& wish,
                                                 const std::vector<pipeline::RouteStage>& old,
                                                 const MovePrice& price,
                                                 const LayerPrice& layer_price = {});

}  // namespace shoal::coordinator
