#include "train/cluster/reduce_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace shoal::train {
namespace {

using collective::Algorithm;
using collective::LinkModel;
using collective::PairTimes;
using Groups = std::vector<std::vector<std::uint32_t>>;

// What pairs are compared by: a message as rings send them.
constexpr double kMessageBytes = 256 << 10U;
// Measured times differ by chance: an order has to be so much better to be worth that sums come out
// with other roundings than in the order of numbers.
constexpr double kWorthReordering = 1.25;
// Without links: what suits most.
constexpr std::size_t kBucketBytes = std::size_t{4} << 20U;

struct Measured {
  PairTimes times;
  bool all = true;  // No pair is missing.
};

// Pairs that nobody knows count as slow as the slowest. None: nobody knows any.
std::optional<Measured> Measure(const LinkTable& links, std::span<const NodeId> members) {
  const std::size_t size = members.size();
  Measured measured{.times = {.size = size, .seconds = std::vector<double>(size * size, -1)}};
  double slowest = 0;
  for (std::size_t a = 0; a < size; ++a) {
    for (std::size_t b = 0; b < size; ++b) {
      const LinkModel* link = a == b ? nullptr : links.Find(members[a], members[b]);
      if (link == nullptr) continue;
      const double seconds = link->Seconds(kMessageBytes);
      measured.times.seconds[a * size + b] = seconds;
      slowest = std::max(slowest, seconds);
    }
  }
  if (slowest == 0) return std::nullopt;
  for (std::size_t i = 0; i < size * size; ++i) {
    double& seconds = measured.times.seconds[i];
    if (seconds >= 0) continue;
    measured.all = measured.all && i / size == i % size;
    seconds = slowest;
  }
  return measured;
}

double SlowestEdge(const PairTimes& times, const std::vector<std::uint32_t>& order) {
  double slowest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    slowest = std::max(slowest, times.Between(order[i], order[(i + 1) % order.size()]));
  }
  return slowest;
}

std::vector<std::uint32_t> Order(const PairTimes& times) {
  std::vector<std::uint32_t> by_number(times.size);
  std::iota(by_number.begin(), by_number.end(), 0U);
  std::vector<std::uint32_t> better = collective::RingOrder(times);
  const bool worth = SlowestEdge(times, by_number) > kWorthReordering * SlowestEdge(times, better);
  return worth ? better : by_number;
}

// Ranks behind one switch, in the order of `order`; empty if there is one switch, or if one has too
// few for groups to be of use.
Groups Switches(const Measured& measured, const std::vector<std::uint32_t>& order) {
  if (!measured.all || order.size() < 4) return {};
  const Groups found = collective::FindSwitches(measured.times);
  if (found.size() < 2) return {};
  std::vector<std::uint32_t> rank_of(order.size());
  for (std::uint32_t rank = 0; rank < order.size(); ++rank) rank_of[order[rank]] = rank;
  Groups switches;
  for (const auto& group : found) {
    if (group.size() < 2) return {};
    std::vector<std::uint32_t>& ranks = switches.emplace_back();
    for (const std::uint32_t member : group) ranks.push_back(rank_of[member]);
    std::sort(ranks.begin(), ranks.end());
  }
  return switches;
}

void Slow(LinkModel& model, const LinkModel& link) {
  model.alpha_seconds = std::max(model.alpha_seconds, link.alpha_seconds);
  model.bytes_per_second = std::min(model.bytes_per_second, link.bytes_per_second);
}

// Whatever goes around is as slow as the slowest link on its way.
collective::Links LinksOf(const LinkTable& table, const std::vector<NodeId>& ring,
                          const Groups& switches) {
  constexpr LinkModel kFastest{.alpha_seconds = 0, .bytes_per_second = 1e12};
  std::vector<std::size_t> switch_of(ring.size());
  collective::Links links{.within = kFastest, .across = kFastest, .per_switch = 0};
  for (std::size_t s = 0; s < switches.size(); ++s) {
    links.per_switch = std::max(links.per_switch, switches[s].size());
    for (const std::uint32_t rank : switches[s]) switch_of[rank] = s;
  }
  for (std::size_t rank = 0; rank < ring.size(); ++rank) {
    const std::size_t next = (rank + 1) % ring.size();
    const LinkModel* link = table.Find(ring[rank], ring[next]);
    if (link == nullptr) continue;
    Slow(switch_of[rank] == switch_of[next] ? links.within : links.across, *link);
  }
  return links;
}

// Into runs of about `bytes`, in order.
std::vector<ReduceWay> Join(std::span<const std::uint64_t> buckets, std::size_t bytes) {
  std::vector<ReduceWay> ways;
  std::uint64_t floats = 0;
  for (const std::uint64_t bucket : buckets) {
    if (ways.empty() || 4 * (floats + bucket) > bytes) {
      ways.push_back({.buckets = 0});
      floats = 0;
    }
    ++ways.back().buckets;
    floats += bucket;
  }
  return ways;
}

Groups SquareGroups(std::size_t members) {
  return collective::ConsecutiveGroups(
      members, static_cast<std::size_t>(std::sqrt(static_cast<double>(members))));
}

// What the links say about each way.
void Choose(const collective::Links& links, std::span<const std::uint64_t> buckets,
            collective::WireType wire, ReducePlan& plan) {
  const std::size_t members = plan.members.size();
  for (ReduceWay& way : plan.ways) {
    std::uint64_t floats = 0;
    for (const std::uint64_t bucket : buckets.first(way.buckets)) floats += bucket;
    buckets = buckets.subspan(way.buckets);
    if (wire == collective::WireType::kF16) floats /= 2;
    const collective::Choice choice = collective::Choose(links, members, floats);
    way.algorithm = choice.algorithm;
    way.pieces = choice.pieces;
    const bool grouped = choice.algorithm == Algorithm::kHierarchical;
    if (grouped && plan.switches.empty()) {
      plan.switches = collective::ConsecutiveGroups(members, choice.per_group);
    }
  }
}

const char* NameOf(const ReduceWay& way) {
  switch (way.algorithm) {
    case Algorithm::kRing:
      return way.pieces.elements == 0 ? "packed" : "ring";
    case Algorithm::kHalvingDoubling:
      return "halving-doubling";
    case Algorithm::kHierarchical:
      return "hierarchical";
  }
  return "";
}

std::string DescribeLink(const LinkModel& link) {
  return fmt::format("{:.2g} ms and {:.4g} Mb/s", link.alpha_seconds * 1e3,
                     link.bytes_per_second * 8e-6);
}

}  // namespace

ReducePlan PlanReduction(const LinkTable& links, std::span<const NodeId> members,
                         std::span<const std::uint64_t> buckets, const ReduceWish& wish) {
  ReducePlan plan{.members = {members.begin(), members.end()}, .switches = {}, .ways = {}};
  std::optional<Measured> measured;
  if (wish.measure_links && members.size() > 1) measured = Measure(links, members);
  collective::Links model;
  if (measured) {
    const std::vector<std::uint32_t> order = Order(measured->times);
    for (std::size_t rank = 0; rank < order.size(); ++rank)
      plan.members[rank] = members[order[rank]];
    plan.switches = Switches(*measured, order);
    model = LinksOf(links, plan.members, plan.switches);
  }
  std::size_t bytes = wish.join_buckets ? kBucketBytes : 0;
  if (wish.join_buckets && measured) {
    bytes = collective::BucketBytes(model.within, members.size());
  }
  plan.ways = Join(buckets, bytes);
  if (measured && !wish.algorithm) {
    Choose(model, buckets, wish.wire, plan);
    return plan;
  }
  for (ReduceWay& way : plan.ways) {
    way.algorithm = wish.algorithm.value_or(Algorithm::kRing);
    way.pieces = wish.pieces;
  }
  const bool groups = wish.algorithm == Algorithm::kHierarchical;
  if (groups && plan.switches.empty() && members.size() >= 4) {
    plan.switches = SquareGroups(members.size());
  }
  return plan;
}

std::string DescribeLinks(const LinkTable& links, std::span<const NodeId> nodes,
                          const NameFn& name) {
  struct Edge {
    LinkModel link;
    NodeId a;
    NodeId b;
  };
  std::vector<Edge> edges;
  for (std::size_t a = 0; a < nodes.size(); ++a) {
    for (std::size_t b = a + 1; b < nodes.size(); ++b) {
      const LinkModel* link = links.Find(nodes[a], nodes[b]);
      if (link != nullptr) edges.push_back({*link, nodes[a], nodes[b]});
    }
  }
  if (edges.empty()) return "nothing is known of the links";
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& x, const Edge& y) {
    return x.link.Seconds(kMessageBytes) < y.link.Seconds(kMessageBytes);
  });
  const Edge& slowest = edges.back();
  return fmt::format("links of {} pairs: {} in the middle, slowest {} between {} and {}",
                     edges.size(), DescribeLink(edges[edges.size() / 2].link),
                     DescribeLink(slowest.link), name(slowest.a), name(slowest.b));
}

std::string DescribePlan(const ReducePlan& plan, std::span<const std::uint64_t> buckets,
                         const NameFn& name) {
  std::string order;
  const bool by_number = std::is_sorted(plan.members.begin(), plan.members.end());
  for (const NodeId node : plan.members) order += (order.empty() ? "" : ", ") + name(node);
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const ReduceWay& way : plan.ways) {
    const std::string algorithm = NameOf(way);
    if (counts.empty() || counts.back().first != algorithm) counts.emplace_back(algorithm, 0);
    ++counts.back().second;
  }
  std::string how;
  for (const auto& [algorithm, count] : counts) {
    how += fmt::format("{}{} by {}", how.empty() ? "" : ", ", count, algorithm);
  }
  const double floats =
      static_cast<double>(std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0}));
  return fmt::format("{} nodes {} add up {:.3g} MB in {} buckets: {}{}", plan.members.size(),
                     by_number ? "in order of their numbers" : "in the order " + order,
                     floats * 4e-6, plan.ways.size(), how,
                     plan.switches.empty() ? "" : fmt::format("; {} groups", plan.switches.size()));
}

}  // namespace shoal::train
