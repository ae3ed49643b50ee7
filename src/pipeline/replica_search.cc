#include "pipeline/replica_search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace shoal::pipeline {
namespace {

// So few nodes and users are shared out in every possible way.
constexpr std::size_t kFewNodes = 6;
constexpr std::size_t kFewUsers = 16;

void Remove(std::vector<std::size_t>& pool, const std::vector<PlacedStage>& stages) {
  std::erase_if(pool, [&](std::size_t node) {
    return std::any_of(stages.begin(), stages.end(),
                       [&](const PlacedStage& stage) { return stage.node == node; });
  });
}

bool HoldsAll(const PlanCosts& costs, const std::vector<std::size_t>& pool) {
  double memory = 0;
  for (const std::size_t node : pool) {
    memory += static_cast<double>(costs.cluster().nodes[node].memory_bytes);
  }
  return memory >= static_cast<double>(costs.AllBytes());
}

// Adds the best of what is left, again and again.
void AddOneByOne(const PlanCosts& costs, std::size_t users, std::size_t replicas_max,
                 std::vector<std::size_t> pool, RouteSearch& search, Replicas& replicas) {
  while (replicas.size() < replicas_max && HoldsAll(costs, pool)) {
    if (!replicas.empty() && search.Exhausted()) return;
    FoundRoute found = search.Find(pool, users);
    if (found.stages.empty()) return;
    Remove(pool, found.stages);
    replicas.push_back(std::move(found.stages));
  }
}

// Every way to share out few nodes: best[set][u] is what u users get of a set of nodes.
Replicas ShareOutFew(const PlanCosts& costs, std::size_t users,
                     const std::vector<std::size_t>& pool, RouteSearch& search) {
  struct Best {
    double rate = -std::numeric_limits<double>::infinity();
    std::size_t part = 0;   // The nodes of one replica, 0: the lowest node is a spare …
    std::size_t users = 0;  // … and the users it has.
  };
  const std::size_t sets = std::size_t{1} << pool.size();
  std::vector<std::vector<std::vector<PlacedStage>>> routes(
      sets, std::vector<std::vector<PlacedStage>>(users + 1));
  std::vector<std::vector<double>> rates(sets, std::vector<double>(users + 1, 0));
  for (std::size_t set = 1; set < sets; ++set) {
    std::vector<std::size_t> nodes;
    for (std::size_t i = 0; i < pool.size(); ++i) {
      if ((set >> i & 1U) != 0) nodes.push_back(pool[i]);
    }
    if (!HoldsAll(costs, nodes)) continue;
    for (std::size_t u = 1; u <= users; ++u) {
      routes[set][u] = search.Find(nodes, u).stages;
      if (!routes[set][u].empty()) rates[set][u] = costs.TokensPerSecond(routes[set][u], u);
    }
  }
  std::vector<std::vector<Best>> best(sets, std::vector<Best>(users + 1));
  best[0][0].rate = 0;
  for (std::size_t set = 1; set < sets; ++set) {
    const std::size_t low = set & (~set + 1);
    for (std::size_t u = 0; u <= users; ++u) {
      Best& here = best[set][u];
      here.rate = best[set ^ low][u].rate;
      for (std::size_t part = set; part > 0; part = (part - 1) & set) {
        if ((part & low) == 0) continue;
        for (std::size_t own = 1; own <= u; ++own) {
          if (routes[part][own].empty()) continue;
          const double rate = rates[part][own] + best[set ^ part][u - own].rate;
          if (rate > here.rate * (1 + 1e-9)) here = {rate, part, own};
        }
      }
    }
  }
  Replicas replicas;
  for (std::size_t set = sets - 1, u = users; set > 0;) {
    const Best& here = best[set][u];
    if (here.part == 0) {
      set &= set - 1;
      continue;
    }
    replicas.push_back(routes[here.part][here.users]);
    set ^= here.part;
    u -= here.users;
  }
  return replicas;
}

// Deals the nodes out to `count` replicas, the largest first, each to the one that has least.
template <class Size>
std::vector<std::vector<std::size_t>> Deal(std::vector<std::size_t> pool, std::size_t count,
                                           const Size& size) {
  std::stable_sort(pool.begin(), pool.end(),
                   [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
  std::vector<std::vector<std::size_t>> hands(count);
  std::multimap<double, std::size_t> totals;
  for (std::size_t i = 0; i < count; ++i) totals.emplace(0, i);
  for (const std::size_t node : pool) {
    const auto [total, hand] = *totals.begin();
    totals.erase(totals.begin());
    hands[hand].push_back(node);
    totals.emplace(total + size(node), hand);
  }
  return hands;
}

Replicas ShareOut(const PlanCosts& costs, std::size_t users, std::size_t replicas_max,
                  const std::vector<std::size_t>& pool, RouteSearch& search) {
  Replicas best;
  double best_rate = 0;
  const auto memory = [&](std::size_t node) {
    return static_cast<double>(costs.cluster().nodes[node].memory_bytes);
  };
  const auto speed = [&](std::size_t node) { return 1 / std::max(costs.Layer(node, 0, 1), 1e-18); };
  const std::size_t most = std::min({users, replicas_max, pool.size()});
  for (std::size_t count = 1; count <= most; count += std::max<std::size_t>(count / 2, 1)) {
    for (const bool by_memory : {false, true}) {
      if (!best.empty() && search.Exhausted()) return best;
      if (count == 1 && by_memory) continue;
      const auto hands = by_memory ? Deal(pool, count, memory) : Deal(pool, count, speed);
      Replicas replicas;
      std::vector<std::size_t> rest = pool;
      for (const std::vector<std::size_t>& hand : hands) {
        if (!HoldsAll(costs, hand)) continue;
        FoundRoute found = search.Find(hand, (users + count - 1) / count);
        if (found.stages.empty()) continue;
        Remove(rest, found.stages);
        replicas.push_back(std::move(found.stages));
      }
      if (replicas.size() < count) {
        AddOneByOne(costs, (users + count - 1) / count, count, rest, search, replicas);
      }
      const bool complete = replicas.size() == count;
      const double rate = TokensPerSecond(costs, replicas, users);
      if (rate > best_rate * (1 + 1e-9)) {
        best_rate = rate;
        best = std::move(replicas);
      }
      if (complete) break;
    }
  }
  return best;
}

}  // namespace

double TokensPerSecond(const PlanCosts& costs, const Replicas& replicas, std::size_t users) {
  struct Share {
    std::size_t replica;
    std::size_t users;
    double rate;
  };
  std::multimap<double, Share> gains;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const double rate = costs.TokensPerSecond(replicas[i], 1);
    gains.emplace(-rate, Share{i, 1, rate});
  }
  std::vector<double> rates(replicas.size(), 0);
  for (std::size_t user = 0; user < users && !gains.empty(); ++user) {
    const Share share = gains.begin()->second;
    gains.erase(gains.begin());
    rates[share.replica] = share.rate;
    const double next = costs.TokensPerSecond(replicas[share.replica], share.users + 1);
    gains.emplace(share.rate - next, Share{share.replica, share.users + 1, next});
  }
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

Replicas FindReplicas(const PlanCosts& costs, const PlanWish& wish, std::size_t replicas_max,
                      const std::vector<std::size_t>& pool, RouteSearch& search) {
  const bool unlimited = replicas_max >= pool.size();
  if (wish.objective == Objective::kThroughput && replicas_max > 1) {
    if (pool.size() <= kFewNodes && wish.users <= kFewUsers && unlimited) {
      return ShareOutFew(costs, wish.users, pool, search);
    }
    return ShareOut(costs, wish.users, replicas_max, pool, search);
  }
  Replicas replicas;
  AddOneByOne(costs, wish.users, replicas_max, pool, search, replicas);
  return replicas;
}

}  // namespace shoal::pipeline
