#include "pipeline/plan_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace shoal::pipeline {
namespace {

double Speed(double value) { return value >= 1 ? std::min(value, 1e18) : 1; }
double Latency(double value) { return value >= 0 ? std::min(value, 1e3) : 0; }

// As many as there can be: a sum of them must not wrap round.
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 50U;

std::uint64_t MemoryOf(const LayerCost& layer, std::uint64_t positions) {
  const double kv =
      static_cast<double>(layer.kv_bytes_per_position) * static_cast<double>(positions);
  if (static_cast<double>(layer.weight_bytes) + kv >= static_cast<double>(kBytesMax)) {
    return kBytesMax;
  }
  return layer.weight_bytes + layer.kv_bytes_per_position * positions;
}

bool SameCost(const LayerCost& a, const LayerCost& b) {
  return a.weight_bytes == b.weight_bytes && a.row_bytes == b.row_bytes &&
         a.multiply_adds == b.multiply_adds && a.kv_bytes_per_position == b.kv_bytes_per_position;
}

}  // namespace

double LayerSeconds(const LayerCost& layer, const PlanSpeeds& speeds, double rows) {
  const auto all = static_cast<double>(layer.weight_bytes);
  const double read =
      layer.row_bytes == 0 ? all : std::min(all, rows * static_cast<double>(layer.row_bytes));
  return std::max(read / Speed(speeds.weight_bytes_per_second),
                  2 * rows * layer.multiply_adds / Speed(speeds.operations_per_second));
}

PlanCosts::PlanCosts(const PlanModel& model, const PlanCluster& cluster)
    : model_(model), cluster_(cluster) {
  bytes_.push_back(0);
  for (const LayerCost& layer : model.layers) {
    bytes_.push_back(bytes_.back() + MemoryOf(layer, model.positions));
    uniform_ = uniform_ && SameCost(layer, model.layers.front());
  }
  linked_.resize(cluster.nodes.size());
  std::map<NodeId, std::size_t> places;
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) places[cluster.nodes[i].id] = i;
  for (const PlanLink& link : cluster.links) {
    const auto a = places.find(link.a);
    const auto b = places.find(link.b);
    if (a == places.end() || b == places.end() || !(link.latency >= 0)) continue;
    linked_[a->second] = linked_[b->second] = true;
    measured_.push_back({a->second, b->second, Latency(link.latency)});
    measured_.push_back({b->second, a->second, Latency(link.latency)});
  }
  std::sort(measured_.begin(), measured_.end(), [](const Measured& x, const Measured& y) {
    return std::pair(x.from, x.to) < std::pair(y.from, y.to);
  });
}

double PlanCosts::Layer(std::size_t node, std::size_t layer, double rows) const {
  return LayerSeconds(model_.layers[layer], cluster_.nodes[node].speeds, rows);
}

double PlanCosts::Link(std::size_t node, double rows) const {
  const double speed = cluster_.nodes[node].link_bytes_per_second;
  return speed > 0 ? rows * 2 * static_cast<double>(model_.dim) / Speed(speed) : 0;
}

double PlanCosts::FromHead(std::size_t node, double rows) const {
  return Latency(cluster_.nodes[node].latency) + Link(node, rows);
}

double PlanCosts::Hop(std::size_t from, std::size_t to, double rows) const {
  const auto at = std::lower_bound(
      measured_.begin(), measured_.end(), std::pair(from, to),
      [](const Measured& x, const auto& pair) { return std::pair(x.from, x.to) < pair; });
  if (at == measured_.end() || at->from != from || at->to != to) {
    return FromHead(from, rows) + FromHead(to, rows);
  }
  return at->latency + Link(from, rows) + Link(to, rows);
}

double PlanCosts::Head(double rows) const {
  return LayerSeconds(model_.output, cluster_.head, rows);
}

double PlanCosts::Stage(const PlacedStage& stage, double rows) const {
  double sum = 0;
  for (std::int64_t i = stage.range.first; i < stage.range.end; ++i) {
    sum += Layer(stage.node, static_cast<std::size_t>(i), rows);
  }
  return sum;
}

double PlanCosts::Hops(const std::vector<PlacedStage>& stages, double rows) const {
  double sum = FromHead(stages.front().node, rows) + FromHead(stages.back().node, rows);
  for (std::size_t i = 1; i < stages.size(); ++i) {
    sum += Hop(stages[i - 1].node, stages[i].node, rows);
  }
  return sum;
}

double PlanCosts::Round(const std::vector<PlacedStage>& stages, double rows) const {
  double sum = Hops(stages, rows);
  for (const PlacedStage& stage : stages) sum += Stage(stage, rows);
  return sum;
}

double PlanCosts::Slowest(const std::vector<PlacedStage>& stages, double rows) const {
  double slowest = 0;
  for (const PlacedStage& stage : stages) {
    slowest = std::max({slowest, Stage(stage, rows), 2 * Link(stage.node, rows)});
  }
  return slowest;
}

double PlanCosts::SecondsPerToken(const std::vector<PlacedStage>& stages) const {
  return Round(stages, 1) + Head(1);
}

double PlanCosts::FirstToken(const std::vector<PlacedStage>& stages, std::size_t prompt,
                             std::size_t chunk) const {
  const std::size_t chunks = (prompt + chunk - 1) / chunk;
  const auto rows = static_cast<double>((prompt + chunks - 1) / chunks);
  return Round(stages, rows) + static_cast<double>(chunks - 1) * Slowest(stages, rows) + Head(1);
}

double PlanCosts::TokensPerSecond(const std::vector<PlacedStage>& stages, std::size_t users) const {
  if (users == 0) return 0;
  const std::size_t batch = (users + stages.size()) / (stages.size() + 1);
  const std::size_t flights = (users + batch - 1) / batch;
  const auto rows = static_cast<double>(batch);
  const double turn =
      std::max(Round(stages, rows) + Head(rows),
               static_cast<double>(flights) * std::max(Slowest(stages, rows), Head(rows)));
  return static_cast<double>(users) / std::max(turn, 1e-12);
}

}  // namespace shoal::pipeline
