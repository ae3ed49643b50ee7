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
// Users are shared out in every way if that takes so few comparisons.
constexpr std::size_t kSharesMax = 1'000'000;

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

// One user more is not always a gain, as batches grow by whole rows: tries every share.
std::vector<std::size_t> ShareExactly(const PlanCosts& costs, const Replicas& replicas,
                                      std::size_t users) {
  struct Best {
    double rate = -1;
    std::size_t share = 0;
  };
  std::vector<std::vector<Best>> best(replicas.size() + 1, std::vector<Best>(users + 1));
  best[0][0].rate = 0;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    for (std::size_t share = 0; share <= users; ++share) {
      const double rate = costs.TokensPerSecond(replicas[i], share);
      for (std::size_t u = share; u <= users; ++u) {
        const double before = best[i][u - share].rate;
        if (before >= 0 && before + rate > best[i + 1][u].rate) {
          best[i + 1][u] = {before + rate, share};
        }
      }
    }
  }
  std::vector<std::size_t> shares(replicas.size());
  for (std::size_t i = replicas.size(); i > 0; --i) {
    shares[i - 1] = best[i][users].share;
    users -= shares[i - 1];
  }
  return shares;
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

// Deals the nodes out to `count` replicas, the fastest first, each to the one that is slowest yet.
std::vector<std::vector<std::size_t>> Deal(const PlanCosts& costs, std::vector<std::size_t> pool,
                                           std::size_t count) {
  const auto speed = [&](std::size_t node) { return 1 / std::max(costs.Layer(node, 0, 1), 1e-18); };
  std::stable_sort(pool.begin(), pool.end(),
                   [&](std::size_t a, std::size_t b) { return speed(a) > speed(b); });
  std::vector<std::vector<std::size_t>> hands(count);
  std::multimap<double, std::size_t> totals;
  for (std::size_t i = 0; i < count; ++i) totals.emplace(0, i);
  for (const std::size_t node : pool) {
    const auto [total, hand] = *totals.begin();
    totals.erase(totals.begin());
    hands[hand].push_back(node);
    totals.emplace(total + speed(node), hand);
  }
  return hands;
}

Replicas OnePerHand(const PlanCosts& costs, std::size_t users, std::size_t count,
                    const std::vector<std::size_t>& pool, RouteSearch& search) {
  Replicas replicas;
  std::vector<std::size_t> rest = pool;
  for (const std::vector<std::size_t>& hand : Deal(costs, pool, count)) {
    if (!replicas.empty() && search.Exhausted()) break;
    if (!HoldsAll(costs, hand)) continue;
    FoundRoute found = search.Find(hand, users);
    if (found.stages.empty()) continue;
    Remove(rest, found.stages);
    replicas.push_back(std::move(found.stages));
  }
  AddOneByOne(costs, users, count, rest, search, replicas);
  return replicas;
}

Replicas ShareOut(const PlanCosts& costs, std::size_t users, std::size_t replicas_max,
                  const std::vector<std::size_t>& pool, RouteSearch& search) {
  Replicas best;
  double best_rate = 0;
  const auto consider = [&](Replicas replicas) {
    const double rate = TokensPerSecond(costs, replicas, users);
    if (rate <= best_rate * (1 + 1e-9)) return;
    best_rate = rate;
    best = std::move(replicas);
  };
  double memory = 0;
  for (const std::size_t node : pool) {
    memory += static_cast<double>(costs.cluster().nodes[node].memory_bytes);
  }
  const double fit = memory / std::max(static_cast<double>(costs.AllBytes()), 1.0);
  const std::size_t most =
      std::min({users, replicas_max, pool.size(),
                static_cast<std::size_t>(std::clamp(fit, 1.0, static_cast<double>(pool.size())))});
  // From many to few: many small ones are found sooner.
  for (std::size_t count = most; count > 0; count = count * 2 / 3) {
    if (!best.empty() && search.Exhausted()) break;
    const std::size_t share = (users + count - 1) / count;
    Replicas replicas;
    AddOneByOne(costs, share, count, pool, search, replicas);
    consider(std::move(replicas));
    if (count > 1) consider(OnePerHand(costs, share, count, pool, search));
  }
  return best;
}

}  // namespace

std::vector<std::size_t> ShareUsers(const PlanCosts& costs, const Replicas& replicas,
                                    std::size_t users) {
  if (replicas.size() * users * users <= kSharesMax) return ShareExactly(costs, replicas, users);
  struct Next {
    std::size_t replica;
    double rate;  // With one user more.
  };
  std::vector<std::size_t> shares(replicas.size(), 0);
  std::multimap<double, Next> gains;
  const auto add = [&](std::size_t replica, double rate) {
    const double next = costs.TokensPerSecond(replicas[replica], shares[replica] + 1);
    gains.emplace(rate - next, Next{replica, next});
  };
  for (std::size_t i = 0; i < replicas.size(); ++i) add(i, 0);
  for (std::size_t user = 0; user < users && !gains.empty(); ++user) {
    const Next next = gains.begin()->second;
    gains.erase(gains.begin());
    ++shares[next.replica];
    add(next.replica, next.rate);
  }
  return shares;
}

double TokensPerSecond(const PlanCosts& costs, const Replicas& replicas, std::size_t users) {
  const std::vector<std::size_t> shares = ShareUsers(costs, replicas, users);
  double sum = 0;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    sum += costs.TokensPerSecond(replicas[i], shares[i]);
  }
  return sum;
}

Replicas FindReplicas(const PlanCosts& costs, const PlanWish& wish, std::size_t replicas_max,
                      const std::vector<std::size_t>& pool, RouteSearch& search) {
  const bool unlimited = replicas_max >= pool.size();
  // With a given number of stages there is nothing to share out: shorter ones would win.
  if (wish.objective == Objective::kThroughput && replicas_max > 1 && wish.stages == 0) {
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
