// Balance: whether layers of a pipeline that runs should move because nodes are faster or slower
// than it was made for, and which. Pure.
//
// Tried are other cuts between the nodes that are there, a spare more or in the place of one, one
// less, and all anew. What is chosen takes the least, with every node whose layers change at its
// price, and a good deal less than what there is: a move costs every answer a pause.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/node_id.h"
#include "coordinator/move_search.h"
#include "pipeline/planner.h"
#include "pipeline/replica.h"

namespace shoal::coordinator {

struct BalanceCase {
  pipeline::PlanModel model;
  pipeline::PlanCluster cluster;  // With speeds as they are believed to be.
  pipeline::PlanWish wish;
  std::vector<pipeline::RouteStage> route;  // That runs.
  // How many times as long as promised nodes take, as far as that is known. For the reason only.
  std::map<NodeId, double> slowness;
  MovePrice price;
};

struct BalanceMove {
  std::vector<pipeline::RouteStage> stages;
  std::vector<NodeId> moved;  // Those whose layers change.
  // "node 3 takes 3.1 times as long as it promised: node 3 [8,16) -> [8,10), …"
  std::string why;
};

// Nothing: it is good enough as it is, or a node of it is not in the cluster.
std::optional<BalanceMove> Balance(const BalanceCase& now);

}  // namespace shoal::coordinator
