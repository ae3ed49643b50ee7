// MoveSearch: the best of all routes that give other layers to nodes of one that is there, where
// every node whose layers change has its price. Pure.
//
// For nodes in a given order it finds the cuts exactly: dynamic programming over where each node's
// layers end, under a bound on the slowest stage that is lowered until nothing fits any more.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "base/node_id.h"
#include "pipeline/planner.h"
#include "pipeline/replica.h"

namespace shoal::coordinator {

// What it counts that a node's layers change, as a share of what the whole route costs; `more`: it
// gets more of them than it has. Infinite: they must stay.
using MovePrice = std::function<double(NodeId node, bool more)>;
// What it counts in the same way that a node gets this layer: more if it must be loaded first.
using LayerPrice = std::function<double(NodeId node, std::int64_t layer)>;

// A node that may hold layers.
struct Seat {
  NodeId node{};
  bool may_be_empty = false;
};

struct PricedRoute {
  std::vector<pipeline::RouteStage> stages;
  double cost = std::numeric_limits<double>::infinity();    // Seconds, of some kind.
  double priced = std::numeric_limits<double>::infinity();  // With all that moves.
};

// Nodes whose layers are others than before, in the order of the pipelines.
std::vector<NodeId> Changed(const std::vector<pipeline::RouteStage>& before,
                            const std::vector<pipeline::RouteStage>& after);
// Nothing: it has none.
const pipeline::LayerRange* RangeOf(const std::vector<pipeline::RouteStage>& stages, NodeId node);

class MoveSearch {
 public:
  // Everything outlives it. `now`: who holds what; a node that is not in `cluster`, or that is to
  // be avoided, has no price. REQUIRES: the model has layers, and no two nodes have one id.
  MoveSearch(const pipeline::PlanModel& model, const pipeline::PlanCluster& cluster,
             const pipeline::PlanWish& wish, const std::vector<pipeline::RouteStage>& now,
             MovePrice price, const LayerPrice& layer_price = {});

  // What a route takes; infinite: a node of it is not there. For one answer it hardly matters where
  // alike nodes are cut, for many at once it does: there both times count, as they do for the
  // planner (PlanWish::slack).
  double Cost(const std::vector<pipeline::RouteStage>& stages) const;
  // Infinite: it does not fit, or something moves that must stay.
  PricedRoute Price(std::vector<pipeline::RouteStage> stages) const;
  // The least that can be had with these nodes in this order, each with one layer at least unless
  // it may be empty. Infinite: the layers do not fit.
  PricedRoute Best(const std::vector<Seat>& seats) const;

 private:
  // The cuts with the shortest round, prices included, and no stage slower than that; empty: there
  // are none.
  std::vector<pipeline::RouteStage> Cut(const std::vector<Seat>& seats, double rows,
                                        double slowest) const;
  double PriceOf(NodeId node, bool more) const;
  double Slowest(const std::vector<pipeline::RouteStage>& stages, double rows) const;
  // Of a batch, in a route of so many stages.
  double Rows(std::size_t stages) const;
  const pipeline::PlanNode* Find(NodeId node) const;
  std::size_t Index(const pipeline::PlanNode* node) const {
    return static_cast<std::size_t>(node - cluster_.nodes.data());
  }

  const pipeline::PlanModel& model_;
  const pipeline::PlanCluster& cluster_;
  const pipeline::PlanWish& wish_;
  const std::vector<pipeline::RouteStage>& now_;
  const MovePrice price_;
  const pipeline::PlanCosts costs_;
  // Of every node: what the layers before each count, and all of them.
  std::vector<std::vector<double>> layer_prices_;
};

}  // namespace shoal::coordinator
