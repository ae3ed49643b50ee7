#include "coordinator/balance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>
#include <utility>

namespace shoal::coordinator {
namespace {

using pipeline::LayerRange;
using pipeline::PlanCosts;
using pipeline::PlanNode;
using pipeline::RouteStage;
using Stages = std::vector<RouteStage>;

// What is better must take less than this share of what it is compared with.
constexpr double kWorthwhile = 0.85;
// So little worse is as good if fewer nodes change.
constexpr double kAboutAsGood = 1.05;
// A node is told to be slow if it takes so much longer than the usual one.
constexpr double kRemarkable = 1.2;
constexpr double kNever = std::numeric_limits<double>::infinity();

struct Candidate {
  Stages stages;
  double cost = kNever;
};

const PlanNode* FindNode(const pipeline::PlanCluster& cluster, NodeId id) {
  const auto found = std::find_if(cluster.nodes.begin(), cluster.nodes.end(),
                                  [&](const PlanNode& node) { return node.id == id; });
  return found == cluster.nodes.end() ? nullptr : &*found;
}

const LayerRange* RangeOf(const Stages& stages, NodeId node) {
  const auto found = std::find_if(stages.begin(), stages.end(),
                                  [&](const RouteStage& stage) { return stage.node == node; });
  return found == stages.end() ? nullptr : &found->range;
}

// Nodes whose layers are others than before, in the order of the pipelines.
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

class Balancer {
 public:
  explicit Balancer(const BalanceCase& now) : now_(now), costs_(now.model, now.cluster) {}

  std::optional<Stages> Run() const {
    Candidate best = {now_.route, Cost(now_.route)};
    if (!(best.cost < kNever)) return std::nullopt;
    const auto consider = [&](Candidate found) {
      if (found.cost < kWorthwhile * best.cost) best = std::move(found);
    };
    consider(BestCuts(now_.route, kWorthwhile * best.cost));
    consider(WithOthers(kWorthwhile * best.cost));
    consider(Anew());
    if (best.stages == now_.route) return std::nullopt;
    return std::move(best.stages);
  }

 private:
  // What is to get less. For one answer it hardly matters where alike nodes are cut, for many at
  // once it does: there both times count, as they do for the planner (PlanWish::slack).
  double Cost(const Stages& stages) const {
    if (now_.wish.objective != pipeline::Objective::kTimePerToken) {
      return ObjectiveSeconds(now_.model, now_.cluster, now_.wish, stages).value_or(kNever);
    }
    const auto predicted = Predict(now_.model, now_.cluster, now_.wish, stages);
    if (!predicted || !(predicted->tokens_per_second_8 > 0)) return kNever;
    return predicted->seconds_per_token / predicted->tokens_per_second_8;
  }

  bool Fits(const Stages& stages) const {
    return std::all_of(stages.begin(), stages.end(), [&](const RouteStage& stage) {
      const PlanNode* const node = FindNode(now_.cluster, stage.node);
      return node != nullptr && costs_.Bytes(stage.range) <= node->memory_bytes &&
             costs_.Trusted(static_cast<std::size_t>(node - now_.cluster.nodes.data()),
                            stage.range);
    });
  }
  bool Allowed(const Stages& stages) const {
    const std::vector<NodeId> changed = Changed(now_.route, stages);
    return std::all_of(changed.begin(), changed.end(), [&](NodeId node) {
      const LayerRange* const before = RangeOf(now_.route, node);
      const LayerRange* const after = RangeOf(stages, node);
      const bool more = after != nullptr && (before == nullptr || after->size() > before->size());
      return now_.may_move(node, more);
    });
  }

  double Seconds(const RouteStage& stage) const {
    const PlanNode* const node = FindNode(now_.cluster, stage.node);
    double sum = 0;
    for (std::int64_t i = stage.range.first; node != nullptr && i < stage.range.end; ++i) {
      sum += LayerSeconds(now_.model.layers[static_cast<std::size_t>(i)], node->speeds, 1);
    }
    return sum;
  }

  // Stages from which layers may have to go, or where they could: the slowest, and those with the
  // slowest and the fastest node.
  std::vector<std::size_t> Centres(const Stages& stages) const {
    std::vector<double> whole;
    std::vector<double> layer;
    for (const RouteStage& stage : stages) {
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

  // `stages` with other cuts between those from the first to the one before the last; nothing if
  // there are none.
  std::optional<Stages> CutBetween(const Stages& stages, std::size_t first,
                                   std::size_t last) const {
    const std::int64_t begin = stages[first].range.first;
    const std::int64_t end = stages[last - 1].range.end;
    pipeline::PlanModel part = now_.model;
    part.layers.assign(now_.model.layers.begin() + begin, now_.model.layers.begin() + end);
    part.trusted_ends = 0;  // Those of a part are not those of the model: Fits looks.
    const auto cut = Recut(part, now_.cluster, now_.wish,
                           {stages.begin() + static_cast<std::ptrdiff_t>(first),
                            stages.begin() + static_cast<std::ptrdiff_t>(last)});
    if (!cut) return std::nullopt;
    Stages all = stages;
    for (std::size_t i = first; i < last; ++i) {
      const LayerRange& range = (*cut)[i - first].range;
      all[i].range = {begin + range.first, begin + range.end};
    }
    return all;
  }

  // The best that moved cuts give, if that is below `limit`; of those that are about as good the
  // one with the fewest neighbours. Never: there is none that is allowed.
  Candidate BestCuts(const Stages& stages, double limit) const {
    const std::optional<Stages> all = CutBetween(stages, 0, stages.size());
    if (!all) return {};
    // What all cuts together do not give, some of them will not.
    const double least = Cost(*all);
    if (!(least < limit)) return {};
    Candidate best;
    const auto consider = [&](Stages found) {
      const double cost = Cost(found);
      if (cost < best.cost && Fits(found) && Allowed(found)) best = {std::move(found), cost};
      return best.cost <= kAboutAsGood * least;
    };
    if (consider(stages)) return best;
    const std::vector<std::size_t> centres = Centres(stages);
    for (std::size_t reach = 1; reach < stages.size(); reach *= 2) {
      for (const std::size_t centre : centres) {
        const std::size_t low = centre - std::min(centre, reach);
        const std::size_t high = std::min(stages.size() - 1, centre + reach);
        for (const auto& [first, last] :
             {std::pair(low, centre), std::pair(centre, high), std::pair(low, high)}) {
          if (first == last) continue;
          std::optional<Stages> cut = CutBetween(stages, first, last + 1);
          if (cut && consider(*std::move(cut))) return best;
        }
      }
    }
    consider(*all);
    return best;
  }

  // A spare in the place of a node, a spare more, or a node less, if that is below `limit`.
  Candidate WithOthers(double limit) const {
    Candidate best;
    const auto consider = [&](const Stages& stages) {
      Candidate found = BestCuts(stages, std::min(limit, best.cost));
      if (found.cost < best.cost) best = std::move(found);
    };
    const std::optional<NodeId> spare = FastestSpare();
    for (const std::size_t centre : Centres(now_.route)) {
      if (spare) {
        Stages exchanged = now_.route;
        exchanged[centre].node = *spare;
        consider(exchanged);
        if (now_.wish.stages == 0) consider(WithOneMore(centre, *spare));
      }
      if (now_.route.size() > std::max<std::size_t>(now_.wish.stages, 1)) {
        consider(WithOneLess(centre));
      }
    }
    return best;
  }

  // `spare` gets half of what the stage has, if that can be halved.
  Stages WithOneMore(std::size_t stage, NodeId spare) const {
    Stages stages = now_.route;
    const LayerRange range = stages[stage].range;
    const std::int64_t middle = range.first + range.size() / 2;
    if (middle == range.first) return stages;
    stages[stage].range.end = middle;
    stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(stage) + 1,
                  {spare, {middle, range.end}});
    return stages;
  }

  // A neighbour gets what the stage has.
  Stages WithOneLess(std::size_t stage) const {
    Stages stages = now_.route;
    const LayerRange range = stages[stage].range;
    stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(stage));
    if (stage > 0) {
      stages[stage - 1].range.end = range.end;
    } else {
      stages[0].range.first = range.first;
    }
    return stages;
  }

  std::optional<NodeId> FastestSpare() const {
    std::optional<NodeId> fastest;
    double speed = 0;
    for (const PlanNode& node : now_.cluster.nodes) {
      if (node.avoid || RangeOf(now_.route, node.id) != nullptr || !now_.may_move(node.id, true))
        continue;
      if (node.speeds.weight_bytes_per_second <= speed) continue;
      speed = node.speeds.weight_bytes_per_second;
      fastest = node.id;
    }
    return fastest;
  }

  Candidate Anew() const {
    const auto plan = PlanPipelines(now_.model, now_.cluster, now_.wish);
    if (!plan.ok() || !Allowed(plan->replicas.front().stages)) return {};
    return {plan->replicas.front().stages, Cost(plan->replicas.front().stages)};
  }

  const BalanceCase& now_;
  const PlanCosts costs_;
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
