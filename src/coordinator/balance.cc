#include "coordinator/balance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

namespace shoal::coordinator {
namespace {

using pipeline::LayerRange;
using pipeline::PlanNode;
using pipeline::RouteStage;
using Stages = std::vector<RouteStage>;

// What is better must take less than this share of what there is, beside what its moves count: a
// new route costs every answer a pause.
constexpr double kWorthwhile = 0.95;
// A node is told to be slow if it takes so much longer than the usual one.
constexpr double kRemarkable = 1.2;
// Of those that hold nothing, so many are considered.
constexpr std::size_t kSparesTried = 2;

class Balancer {
 public:
  explicit Balancer(const BalanceCase& now)
      : now_(now), search_(now.model, now.cluster, now.wish, now.route, now.price) {}

  std::optional<Stages> Run() {
    const double cost = search_.Cost(now_.route);
    if (!(cost < std::numeric_limits<double>::infinity())) return std::nullopt;
    best_.priced = kWorthwhile * cost;
    Consider(search_.Best(Seats(now_.route)));
    for (const NodeId spare : Spares()) {
      for (const std::size_t centre : Centres()) ConsiderAt(centre, spare);
    }
    ConsiderAnew();
    if (best_.stages.empty() || best_.stages == now_.route) return std::nullopt;
    return std::move(best_.stages);
  }

 private:
  void Consider(PricedRoute route) {
    if (route.priced < best_.priced) best_ = std::move(route);
  }

  // With a given number of stages nobody is left out.
  bool may_be_empty() const { return now_.wish.stages == 0; }

  std::vector<Seat> Seats(const Stages& stages) const {
    std::vector<Seat> seats;
    for (const RouteStage& stage : stages) seats.push_back({stage.node, may_be_empty()});
    return seats;
  }

  // The spare beside a stage, or if their number is given, in its place.
  void ConsiderAt(std::size_t stage, NodeId spare) {
    std::vector<Seat> seats = Seats(now_.route);
    if (may_be_empty()) {
      seats.insert(seats.begin() + static_cast<std::ptrdiff_t>(stage), {spare, true});
    } else {
      seats[stage].node = spare;
    }
    Consider(search_.Best(seats));
  }

  double Seconds(const RouteStage& stage) const {
    const auto node = std::find_if(now_.cluster.nodes.begin(), now_.cluster.nodes.end(),
                                   [&](const PlanNode& n) { return n.id == stage.node; });
    double sum = 0;
    for (std::int64_t i = stage.range.first; i < stage.range.end; ++i) {
      sum += LayerSeconds(now_.model.layers[static_cast<std::size_t>(i)], node->speeds, 1);
    }
    return sum;
  }

  // Stages from which layers may have to go, or where they could: the slowest, and those with the
  // slowest and the fastest node.
  std::vector<std::size_t> Centres() const {
    std::vector<double> whole;
    std::vector<double> layer;
    for (const RouteStage& stage : now_.route) {
      whole.push_back(Seconds(stage));
      layer.push_back(whole.back() / static_cast<double>(stage.range.size()));
    }
    const auto at = [](const std::vector<double>& from, auto found) {
      return static_cast<std::size_t>(found - from.begin());
    };
    std::vector<std::size_t> centres;
    for (const std::size_t centre : {at(whole, std::max_element(whole.begin(), whole.end())),
                                     at(layer, std::max_element(layer.begin(), layer.end())),
                                     at(layer, std::min_element(layer.begin(), layer.end()))}) {
      if (std::find(centres.begin(), centres.end(), centre) == centres.end()) {
        centres.push_back(centre);
      }
    }
    return centres;
  }

  // The fastest of those that may get something.
  std::vector<NodeId> Spares() const {
    std::vector<const PlanNode*> nodes;
    for (const PlanNode& node : now_.cluster.nodes) {
      if (node.avoid || RangeOf(now_.route, node.id) != nullptr) continue;
      if (std::isfinite(now_.price(node.id, true))) nodes.push_back(&node);
    }
    std::stable_sort(nodes.begin(), nodes.end(), [](const PlanNode* a, const PlanNode* b) {
      return a->speeds.weight_bytes_per_second > b->speeds.weight_bytes_per_second;
    });
    std::vector<NodeId> spares;
    for (const PlanNode* node : nodes) {
      if (spares.size() < kSparesTried) spares.push_back(node->id);
    }
    return spares;
  }

  // As the planner has it, and with its nodes in the present order: that moves less.
  void ConsiderAnew() {
    const auto plan = PlanPipelines(now_.model, now_.cluster, now_.wish);
    if (!plan.ok()) return;
    const Stages& anew = plan->replicas.front().stages;
    std::vector<NodeId> added;
    for (const RouteStage& stage : anew) {
      if (RangeOf(now_.route, stage.node) == nullptr) added.push_back(stage.node);
    }
    std::vector<Seat> seats;
    for (const RouteStage& stage : now_.route) {
      if (RangeOf(anew, stage.node) != nullptr) {
        seats.push_back({stage.node, false});
      } else if (!added.empty()) {
        seats.push_back({added.back(), false});
        added.pop_back();
      }
    }
    for (const NodeId node : added) seats.push_back({node, false});
    Consider(search_.Best(seats));
    Consider(search_.Price(anew));
  }

  const BalanceCase& now_;
  const MoveSearch search_;
  PricedRoute best_;
};

std::string Name(NodeId node) { return "node " + std::to_string(ToNumber(node)); }

std::string Text(const LayerRange* range) {
  if (range == nullptr) return "nothing";
  return "[" + std::to_string(range->first) + "," + std::to_string(range->end) + ")";
}

std::string Times(double factor) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.1f", factor);
  return text.data();
}

// The node that stands out among those whose layers move: the slowest, or if none is remarkable,
// the fastest.
std::string Cause(const BalanceCase& now, const std::vector<NodeId>& moved) {
  std::vector<double> known;
  for (const auto& [node, slowness] : now.slowness) known.push_back(slowness);
  if (known.empty()) return "the layers can be spread better";
  std::sort(known.begin(), known.end());
  const double usual = known[(known.size() - 1) / 2];
  const std::pair<const NodeId, double>* slowest = nullptr;
  const std::pair<const NodeId, double>* fastest = nullptr;
  for (const auto& entry : now.slowness) {
    if (std::find(moved.begin(), moved.end(), entry.first) == moved.end()) continue;
    if (slowest == nullptr || entry.second > slowest->second) slowest = &entry;
    if (fastest == nullptr || entry.second < fastest->second) fastest = &entry;
  }
  if (slowest != nullptr && slowest->second >= kRemarkable * usual) {
    return Name(slowest->first) + " takes " + Times(slowest->second) +
           " times as long as it promised";
  }
  if (fastest != nullptr) {
    return Name(fastest->first) + " can do more, it takes " + Times(fastest->second) +
           " times as long as it promised";
  }
  return "the layers can be spread better";
}

}  // namespace

std::optional<BalanceMove> Balance(const BalanceCase& now) {
  if (now.route.empty() || now.model.layers.empty()) return std::nullopt;
  std::optional<Stages> stages = Balancer(now).Run();
  if (!stages) return std::nullopt;
  BalanceMove move;
  move.moved = Changed(now.route, *stages);
  move.why = Cause(now, move.moved) + ":";
  for (const NodeId node : move.moved) {
    move.why += (node == move.moved.front() ? " " : ", ") + Name(node) + " " +
                Text(RangeOf(now.route, node)) + " -> " + Text(RangeOf(*stages, node));
  }
  move.stages = *std::move(stages);
  return move;
}

}  // namespace shoal::coordinator
