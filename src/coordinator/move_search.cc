#include "coordinator/move_search.h"

#include <algorithm>
#include <utility>

namespace shoal::coordinator {
namespace {

using pipeline::LayerRange;
using pipeline::PlanNode;
using pipeline::RouteStage;
using Stages = std::vector<RouteStage>;

constexpr double kNever = std::numeric_limits<double>::infinity();
// The bound is lowered to this share of the slowest stage of what was found last …
constexpr double kLowerTo = 0.98;
// … so often at most.
constexpr int kLoweringsMax = 40;

}  // namespace

const LayerRange* RangeOf(const Stages& stages, NodeId node) {
  const auto found = std::find_if(stages.begin(), stages.end(),
                                  [&](const RouteStage& stage) { return stage.node == node; });
  return found == stages.end() ? nullptr : &found->range;
}

std::vector<NodeId> Changed(const Stages& before, const Stages& after) {
  std::vector<NodeId> changed;
  for (const RouteStage& stage : before) {
    const LayerRange* const range = RangeOf(after, stage.node);
    if (range == nullptr || !(*range == stage.range)) changed.push_back(stage.node);
  }
  for (const RouteStage& stage : after) {
    if (RangeOf(before, stage.node) == nullptr) changed.push_back(stage.node);
  }
  return changed;
}

MoveSearch::MoveSearch(const pipeline::PlanModel& model, const pipeline::PlanCluster& cluster,
                       const pipeline::PlanWish& wish, const Stages& now, MovePrice price,
                       const LayerPrice& layer_price)
    : model_(model),
      cluster_(cluster),
      wish_(wish),
      now_(now),
      price_(std::move(price)),
      costs_(model, cluster),
      layer_prices_(cluster.nodes.size(), std::vector<double>(model.layers.size() + 1)) {
  for (std::size_t node = 0; layer_price && node < cluster.nodes.size(); ++node) {
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      layer_prices_[node][i + 1] =
          layer_prices_[node][i] +
          layer_price(cluster.nodes[node].id, static_cast<std::int64_t>(i));
    }
  }
}

const PlanNode* MoveSearch::Find(NodeId id) const {
  const auto found = std::find_if(cluster_.nodes.begin(), cluster_.nodes.end(),
                                  [&](const PlanNode& node) { return node.id == id; });
  return found == cluster_.nodes.end() ? nullptr : &*found;
}

double MoveSearch::Cost(const Stages& stages) const {
  if (wish_.objective != pipeline::Objective::kTimePerToken) {
    return ObjectiveSeconds(model_, cluster_, wish_, stages).value_or(kNever);
  }
  const auto predicted = Predict(model_, cluster_, wish_, stages);
  if (!predicted || !(predicted->tokens_per_second_8 > 0)) return kNever;
  return predicted->seconds_per_token / predicted->tokens_per_second_8;
}

double MoveSearch::PriceOf(NodeId node, bool more) const {
  const PlanNode* const found = Find(node);
  return found == nullptr || found->avoid ? 0 : price_(node, more);
}

PricedRoute MoveSearch::Price(Stages stages) const {
  for (const RouteStage& stage : stages) {
    const PlanNode* const node = Find(stage.node);
    if (node == nullptr || costs_.Bytes(stage.range) > node->memory_bytes ||
        !costs_.Trusted(Index(node), stage.range)) {
      return {};
    }
  }
  double prices = 0;
  for (const NodeId node : Changed(now_, stages)) {
    const LayerRange* const before = RangeOf(now_, node);
    const LayerRange* const after = RangeOf(stages, node);
    prices +=
        PriceOf(node, after != nullptr && (before == nullptr || after->size() > before->size()));
  }
  for (const RouteStage& stage : stages) {
    const std::vector<double>& layers = layer_prices_[Index(Find(stage.node))];
    prices += layers[static_cast<std::size_t>(stage.range.end)] -
              layers[static_cast<std::size_t>(stage.range.first)];
  }
  if (!(prices < kNever)) return {};
  PricedRoute route{.stages = std::move(stages)};
  route.cost = Cost(route.stages);
  route.priced = route.cost * (1 + prices);
  return route;
}

double MoveSearch::Rows(std::size_t stages) const {
  switch (wish_.objective) {
    case pipeline::Objective::kTimePerToken:
      return 1;
    case pipeline::Objective::kFirstToken:
      return static_cast<double>(std::max<std::size_t>(std::min(wish_.chunk, wish_.prompt), 1));
    case pipeline::Objective::kThroughput:
      return static_cast<double>((std::max<std::size_t>(wish_.users, 1) + stages) / (stages + 1));
  }
  return 1;
}

double MoveSearch::Slowest(const Stages& stages, double rows) const {
  double slowest = 0;
  for (const RouteStage& stage : stages) {
    slowest = std::max(slowest, costs_.Stage({Index(Find(stage.node)), stage.range}, rows));
  }
  return slowest;
}

PricedRoute MoveSearch::Best(const std::vector<Seat>& seats) const {
  PricedRoute best;
  const double rows = Rows(seats.size());
  double bound = kNever;
  for (int i = 0; i < kLoweringsMax; ++i) {
    Stages found = Cut(seats, rows, bound);
    if (found.empty()) break;
    bound = kLowerTo * Slowest(found, rows);
    PricedRoute route = Price(std::move(found));
    if (route.priced < best.priced) best = std::move(route);
  }
  return best;
}

// value[s][i]: the least until layers [0, i) are done by some of the first s seats.
Stages MoveSearch::Cut(const std::vector<Seat>& seats, double rows, double slowest) const {
  const std::size_t layers = model_.layers.size();
  struct Value {
    double seconds = kNever;
    std::size_t begin = 0;  // Of the layers of the last seat; its end: it is empty.
  };
  std::vector<Value> values((seats.size() + 1) * (layers + 1));
  const auto at = [&](std::size_t seat, std::size_t layer) -> Value& {
    return values[seat * (layers + 1) + layer];
  };
  at(0, 0).seconds = 0;
  // What prices are a share of: more than nothing, so that what must stay does.
  double usual = 1e-9;
  for (const RouteStage& stage : now_) {
    const PlanNode* const node = Find(stage.node);
    if (node != nullptr) usual += costs_.Stage({Index(node), stage.range}, rows);
  }
  std::vector<double> before(layers + 1);
  for (std::size_t s = 0; s < seats.size(); ++s) {
    const PlanNode* const node = Find(seats[s].node);
    if (node == nullptr) return {};
    const std::size_t index = Index(node);
    const LayerRange* const held = RangeOf(now_, seats[s].node);
    const std::vector<double>& layer_prices = layer_prices_[index];
    const double hops = 2 * costs_.FromHead(index, rows);
    const double less = usual * PriceOf(seats[s].node, false);
    const double more = usual * PriceOf(seats[s].node, true);
    for (std::size_t i = 0; i < layers; ++i) {
      before[i + 1] = before[i] + costs_.Layer(index, i, rows);
    }
    for (std::size_t end = 0; end <= layers; ++end) {
      Value best;
      if (seats[s].may_be_empty) {
        best = {at(s, end).seconds + (held != nullptr ? less : 0), end};
      }
      for (std::size_t begin = end; begin-- > 0;) {
        const LayerRange range = {static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)};
        const double seconds = before[end] - before[begin];
        if (seconds > slowest || costs_.Bytes(range) > node->memory_bytes ||
            !costs_.Trusted(index, range)) {
          break;
        }
        const bool stays = held != nullptr && *held == range;
        const bool grows = held == nullptr || range.size() > held->size();
        const double price = (stays   ? 0
                              : grows ? more
                                      : less) +
                             usual * (layer_prices[end] - layer_prices[begin]);
        const double value = at(s, begin).seconds + seconds + hops + price;
        if (value < best.seconds) best = {value, begin};
      }
      at(s + 1, end) = best;
    }
  }
  if (!(at(seats.size(), layers).seconds < kNever)) return {};
  Stages stages;
  std::size_t end = layers;
  for (std::size_t s = seats.size(); s > 0; --s) {
    const std::size_t begin = at(s, end).begin;
    if (begin < end) {
      stages.push_back(
          {seats[s - 1].node, {static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)}});
    }
    end = begin;
  }
  std::reverse(stages.begin(), stages.end());
  return stages;
}

}  // namespace shoal::coordinator
