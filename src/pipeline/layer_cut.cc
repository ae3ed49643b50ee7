#include "pipeline/layer_cut.h"

#include <algorithm>
#include <limits>

namespace shoal::pipeline {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Arrival {
  double seconds = kNever;
  std::uint32_t previous = 0;  // The place in the order of the node that it comes from.
};

}  // namespace

// reach[c][j][i]: the least time until layers [0, i) are done, the last of them on the j-th node,
// as stage c if stages are counted.
CutRoute CutLayers(const PlanCosts& costs, const std::vector<std::size_t>& order,
                   const CutBound& bound) {
  const std::size_t n = order.size();
  const std::size_t layers = costs.layers();
  const std::size_t counts = std::max<std::size_t>(bound.stages, 1);
  struct Reach {
    double seconds = kNever;
    std::uint32_t begin = 0;     // The stage's first layer …
    std::uint32_t previous = 0;  // … and the place in `order` of the stage before.
  };
  // The j-th node can only be one of so many stages: those before and after it take nodes, too.
  const std::size_t width = bound.stages == 0 ? 1 : n - std::min(n, counts) + 1;
  const auto first_count = [&](std::size_t j) { return j + 1 > width ? j + 1 - width : 0; };
  const auto possible = [&](std::size_t c, std::size_t j) {
    return bound.stages == 0 || (c <= j && c >= first_count(j));
  };
  std::vector<Reach> reach(width * n * (layers + 1));
  const auto at = [&](std::size_t c, std::size_t j, std::size_t i) -> Reach& {
    const std::size_t place = bound.stages == 0 ? 0 : c - first_count(j);
    return reach[(j * width + place) * (layers + 1) + i];
  };
  std::vector<double> before(layers + 1);
  std::vector<Arrival> arrive(layers + 1);
  // The best of all so far, or of those of whose links nothing is known, by the way of the head.
  std::vector<std::vector<Arrival>> from_any(counts, std::vector<Arrival>(layers + 1));
  std::vector<std::vector<Arrival>> from_unlinked = from_any;
  std::size_t covered = 0;
  std::uint64_t steps = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const std::size_t node = order[j];
    const PlanNode& info = costs.cluster().nodes[node];
    if (2 * costs.Link(node, bound.rows) > bound.slowest) continue;
    for (std::size_t i = 0; i < layers; ++i) {
      before[i + 1] = before[i] + costs.Layer(node, i, bound.rows);
    }
    const bool linked = costs.Linked(node);
    const double head_to_node = costs.FromHead(node, bound.rows);
    for (std::size_t c = 0; c < counts; ++c) {
      if (!possible(c, j)) continue;
      std::fill(arrive.begin(), arrive.end(), Arrival{});
      if (c == 0) arrive[0].seconds = head_to_node;
      if (bound.stages == 0 || c > 0) {
        const std::size_t stage_before = bound.stages == 0 ? 0 : c - 1;
        const std::vector<Arrival>& via_head = (linked ? from_unlinked : from_any)[stage_before];
        for (std::size_t k = 1; k < layers; ++k) {
          arrive[k] = {via_head[k].seconds + head_to_node, via_head[k].previous};
        }
        steps += layers;
        for (std::size_t p = 0; linked && p < j; ++p) {
          if (!costs.Linked(order[p]) || !possible(stage_before, p)) continue;
          const double hop = costs.Hop(order[p], node, bound.rows);
          for (std::size_t k = 1; k < layers; ++k) {
            const double seconds = at(stage_before, p, k).seconds + hop;
            if (seconds < arrive[k].seconds) {
              arrive[k] = {seconds, static_cast<std::uint32_t>(p)};
            }
          }
          steps += layers;
        }
      }
      for (std::size_t i = 1; i <= layers; ++i) {
        Reach& best = at(c, j, i);
        for (std::size_t k = i; k-- > 0;) {
          if (!costs.Trusted(node, {static_cast<std::int64_t>(k), static_cast<std::int64_t>(i)})) {
            break;
          }
          const double time = before[i] - before[k];
          if (time > bound.slowest ||
              costs.Bytes({static_cast<std::int64_t>(k), static_cast<std::int64_t>(i)}) >
                  info.memory_bytes) {
            break;
          }
          ++steps;
          const double seconds = arrive[k].seconds + time + (info.avoid ? kAvoidCost : 0);
          if (seconds < best.seconds) {
            best = {seconds, static_cast<std::uint32_t>(k), arrive[k].previous};
            covered = std::max(covered, i);
          }
        }
      }
    }
    for (std::size_t c = 0; c < counts; ++c) {
      if (!possible(c, j)) continue;
      for (std::size_t i = 1; i <= layers; ++i) {
        const Arrival left = {at(c, j, i).seconds + head_to_node, static_cast<std::uint32_t>(j)};
        if (left.seconds < from_any[c][i].seconds) from_any[c][i] = left;
        if (!linked && left.seconds < from_unlinked[c][i].seconds) from_unlinked[c][i] = left;
      }
    }
  }
  CutRoute found{.stages = {}, .uncovered = layers - covered, .steps = steps};
  double least = kNever;
  std::size_t j = n;
  for (std::size_t last = 0; last < n; ++last) {
    if (!possible(counts - 1, last)) continue;
    const double seconds =
        at(counts - 1, last, layers).seconds + costs.FromHead(order[last], bound.rows);
    if (seconds < least) {
      least = seconds;
      j = last;
    }
  }
  if (j == n) {
    found.uncovered = std::max<std::size_t>(found.uncovered, 1);
    return found;
  }
  for (std::size_t i = layers, c = counts - 1; i > 0; c = c > 0 ? c - 1 : 0) {
    const Reach& here = at(c, j, i);
    found.stages.push_back(
        {order[j], {static_cast<std::int64_t>(here.begin), static_cast<std::int64_t>(i)}});
    i = here.begin;
    j = here.previous;
  }
  std::reverse(found.stages.begin(), found.stages.end());
  return found;
}

}  // namespace shoal::pipeline
