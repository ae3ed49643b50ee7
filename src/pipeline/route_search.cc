#include "pipeline/route_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace shoal::pipeline {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// The bound on the slowest stage is lowered by so much at a time; coarser if there are many nodes.
constexpr double kLowerBy = 0.98;
constexpr double kLowerByCoarse = 0.94;
constexpr int kHalvings = 14;
constexpr int kHalvingsCoarse = 9;
constexpr std::size_t kManyNodes = 16;
// Batch sizes tried for one number of users.
constexpr std::size_t kRowsTried = 4;
// Orders of so many nodes are improved with all of them, of more with those in use.
constexpr std::size_t kFewNodes = 8;
constexpr int kRoundsMax = 20;

bool Better(const FoundRoute& a, const FoundRoute& b) {
  if (a.uncovered != b.uncovered) return a.uncovered < b.uncovered;
  return a.score < b.score * (1 - 1e-9);
}

}  // namespace

double RouteSearch::Score(const std::vector<PlacedStage>& stages, std::size_t users) const {
  double avoided = 0;
  for (const PlacedStage& stage : stages) {
    avoided += costs_.cluster().nodes[stage.node].avoid ? kAvoidCost : 0;
  }
  switch (wish_.objective) {
    case Objective::kTimePerToken:
      return avoided + costs_.SecondsPerToken(stages);
    case Objective::kFirstToken:
      return avoided + costs_.FirstToken(stages, wish_.prompt, wish_.chunk);
    case Objective::kThroughput:
      return avoided + 1 / costs_.TokensPerSecond(stages, users);
  }
  return kNever;
}

std::vector<double> RouteSearch::RowsToTry(std::size_t users, std::size_t stages_min,
                                           std::size_t stages_max) const {
  if (wish_.objective == Objective::kTimePerToken) return {1};
  if (wish_.objective == Objective::kFirstToken) {
    const std::size_t chunks = (wish_.prompt + wish_.chunk - 1) / wish_.chunk;
    return {static_cast<double>((wish_.prompt + chunks - 1) / chunks)};
  }
  std::vector<double> all;
  for (std::size_t stages = stages_min; stages <= stages_max; ++stages) {
    const auto rows = static_cast<double>((users + stages) / (stages + 1));
    if (all.empty() || all.back() != rows) all.push_back(rows);
  }
  if (all.size() <= kRowsTried) return all;
  std::vector<double> some;
  for (std::size_t i = 0; i < kRowsTried; ++i) {
    some.push_back(all[i * (all.size() - 1) / (kRowsTried - 1)]);
  }
  return some;
}

// The nodes that are worth a look: those that are good for their layers, and if these have too
// little memory, those that have most.
std::vector<std::size_t> RouteSearch::Choose(std::vector<std::size_t> pool,
                                             std::size_t users) const {
  const std::size_t layers = costs_.layers();
  const double mean = static_cast<double>(costs_.AllBytes()) / static_cast<double>(layers);
  const double rows = RowsToTry(users, 1, 1).front();
  const auto room = [&](std::size_t node) {
    const auto memory = static_cast<double>(costs_.cluster().nodes[node].memory_bytes);
    return std::clamp(memory / std::max(mean, 1.0), 0.0, static_cast<double>(layers));
  };
  const auto rating = [&](std::size_t node) {
    const double held = std::max(room(node), 1.0);
    return (costs_.cluster().nodes[node].avoid ? kAvoidCost : 0) +
           2 * costs_.FromHead(node, rows) / held + costs_.Layer(node, 0, rows);
  };
  const auto sort_by = [](std::vector<std::size_t>& nodes, const auto& key) {
    std::vector<std::pair<double, std::size_t>> keyed;
    for (const std::size_t node : nodes) keyed.emplace_back(key(node), node);
    std::sort(keyed.begin(), keyed.end());
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = keyed[i].second;
  };
  std::vector<std::size_t> large = pool;
  sort_by(large, [&](std::size_t node) { return -room(node); });
  double held = 0;
  std::size_t needed = 0;
  while (needed < large.size() && held < static_cast<double>(layers)) held += room(large[needed++]);
  std::size_t keep = layers + 8;
  const bool one_stream = wish_.objective == Objective::kTimePerToken ||
                          (wish_.objective == Objective::kThroughput && users == 1);
  if (one_stream && wish_.stages == 0) {
    // More stages only add hops.
    keep = std::min(keep, 2 * needed + 16);
  }
  sort_by(pool, rating);
  if (pool.size() <= keep) return pool;
  const auto total = [&] {
    return std::accumulate(pool.begin(), pool.begin() + static_cast<std::ptrdiff_t>(keep), 0.0,
                           [&](double sum, std::size_t node) { return sum + room(node); });
  };
  const bool enough = total() >= 1.5 * static_cast<double>(layers);
  pool.resize(enough ? keep : keep / 2);
  for (std::size_t i = 0; i < large.size() && pool.size() < keep; ++i) {
    if (std::find(pool.begin(), pool.end(), large[i]) == pool.end()) pool.push_back(large[i]);
  }
  return pool;
}

FoundRoute RouteSearch::Cut(const std::vector<std::size_t>& order, const CutBound& bound) {
  CutRoute cut = CutLayers(costs_, order, bound);
  steps_ += cut.steps;
  return {.stages = std::move(cut.stages), .uncovered = cut.uncovered};
}

FoundRoute RouteSearch::Tighten(const std::vector<std::size_t>& order, std::size_t users,
                                double rows, std::size_t stages) {
  FoundRoute best = Cut(order, {.rows = rows, .slowest = kNever, .stages = stages});
  if (best.stages.empty()) return best;
  best.score = Score(best.stages, users);
  if (wish_.objective == Objective::kTimePerToken) return best;
  const auto attempt = [&](double slowest) {
    FoundRoute found = Cut(order, {.rows = rows, .slowest = slowest, .stages = stages});
    if (!found.stages.empty()) {
      found.score = Score(found.stages, users);
      if (Better(found, best)) best = found;
    }
    return found;
  };
  double slowest = costs_.Slowest(best.stages, rows);
  if (wish_.objective == Objective::kFirstToken) {
    const double lower_by = order.size() > kManyNodes ? kLowerByCoarse : kLowerBy;
    while (slowest > 0 && !Exhausted()) {
      const FoundRoute found = attempt(slowest * lower_by);
      if (found.stages.empty()) break;
      slowest = costs_.Slowest(found.stages, rows);
    }
    return best;
  }
  // Rounds get longer as the slowest stage gets shorter: best where both are of equal weight.
  const double flights = std::ceil(static_cast<double>(users) / rows);
  if (costs_.Round(best.stages, rows) >= flights * slowest) return best;
  const int halvings = order.size() > kManyNodes ? kHalvingsCoarse : kHalvings;
  double low = 0;
  for (int i = 0; i < halvings && low < slowest * 0.995 && !Exhausted(); ++i) {
    const FoundRoute found = attempt((low + slowest) / 2);
    if (found.stages.empty()) {
      low = (low + slowest) / 2;
    } else if (costs_.Round(found.stages, rows) > flights * costs_.Slowest(found.stages, rows)) {
      low = (low + slowest) / 2;
    } else {
      slowest = costs_.Slowest(found.stages, rows);
    }
  }
  return best;
}

FoundRoute RouteSearch::BestInOrder(const std::vector<std::size_t>& order, std::size_t users,
                                    std::size_t stages) {
  FoundRoute best{.stages = {}, .uncovered = costs_.layers() + 1};
  // How many rows a batch has follows from the number of stages.
  const std::size_t stages_max = std::min(order.size(), costs_.layers());
  const std::size_t stages_min = stages > 0 ? stages : 1;
  for (const double rows : RowsToTry(users, stages_min, stages > 0 ? stages : stages_max)) {
    FoundRoute found = Tighten(order, users, rows, stages);
    if (Better(found, best)) best = std::move(found);
  }
  return best;
}

FoundRoute RouteSearch::Improve(std::vector<std::size_t> order, std::size_t users,
                                std::size_t stages) {
  FoundRoute best = BestInOrder(order, users, stages);
  if (costs_.uniform() && costs_.cluster().links.empty()) return best;
  if (order.size() > kFewNodes && !best.stages.empty()) {
    order.clear();
    for (const PlacedStage& stage : best.stages) order.push_back(stage.node);
  }
  const std::uint64_t steps_max = steps_ + kImproveStepsMax;
  for (int round = 0; round < kRoundsMax; ++round) {
    bool better = false;
    const auto attempt = [&](const std::vector<std::size_t>& other) {
      FoundRoute found = BestInOrder(other, users, stages);
      if (!Better(found, best)) return;
      best = std::move(found);
      order = other;
      better = true;
    };
    for (std::size_t a = 0; a < order.size(); ++a) {
      for (std::size_t b = 0; b < order.size(); ++b) {
        if (a == b || steps_ > steps_max) continue;
        std::vector<std::size_t> other = order;
        if (a < b) {
          std::swap(other[a], other[b]);
          attempt(other);
        }
        other = order;
        const std::size_t node = other[a];
        other.erase(other.begin() + static_cast<std::ptrdiff_t>(a));
        other.insert(other.begin() + static_cast<std::ptrdiff_t>(b), node);
        attempt(other);
      }
    }
    if (!better || steps_ > steps_max) break;
  }
  return best;
}

// Orders keep what comes first and last: every other trusted node goes to the end.
void RouteSearch::TrustedOutside(std::vector<std::size_t>& pool) const {
  std::vector<std::size_t> first;
  std::vector<std::size_t> middle;
  std::vector<std::size_t> last;
  for (const std::size_t node : pool) {
    if (!costs_.cluster().nodes[node].trusted) {
      middle.push_back(node);
    } else {
      (first.size() > last.size() ? last : first).push_back(node);
    }
  }
  pool = std::move(first);
  pool.insert(pool.end(), middle.begin(), middle.end());
  pool.insert(pool.end(), last.begin(), last.end());
}

FoundRoute RouteSearch::Find(std::vector<std::size_t> pool, std::size_t users) {
  pool = Choose(std::move(pool), users);
  if (costs_.model().trusted_ends > 0) TrustedOutside(pool);
  if (pool.empty()) return {.stages = {}, .uncovered = costs_.layers()};
  if (wish_.stages > 0) {
    const std::size_t stages = std::min({wish_.stages, pool.size(), costs_.layers()});
    FoundRoute found = Improve(pool, users, stages);
    if (!found.stages.empty()) return found;
  }
  return Improve(pool, users, 0);
}

}  // namespace shoal::pipeline
