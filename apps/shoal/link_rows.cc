#include "shoal/link_rows.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"

namespace shoal {
namespace {

using bench::Row;
using Kind = wire::pb::TrainTrial;

double Median(std::span<const PairSpeed> pairs, double PairSpeed::*figure) {
  std::vector<double> figures;
  for (const PairSpeed& pair : pairs) figures.push_back(pair.*figure);
  std::sort(figures.begin(), figures.end());
  return figures[figures.size() / 2];
}

Row MegabitRow(std::string name, double bytes_per_second) {
  return {.name = std::move(name),
          .unit = "Mb/s",
          .higher_is_better = true,
          .ours = bytes_per_second * 8e-6,
          .peers = {},
          .limit = {}};
}

}  // namespace

std::vector<std::size_t> NodeCounts(std::size_t nodes) {
  constexpr std::size_t kFew = 8;
  std::vector<std::size_t> counts;
  for (std::size_t count = 2; count < nodes; count = count < kFew ? count + 1 : 2 * count) {
    counts.push_back(count);
  }
  if (nodes >= 2) counts.push_back(nodes);
  return counts;
}

std::vector<std::pair<std::size_t, std::size_t>> RingPairs(std::size_t nodes, std::size_t limit) {
  const std::size_t all = nodes == 2 ? 1 : nodes;
  const std::size_t count = std::min(all, limit);
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = i * all / count;
    pairs.emplace_back(from, (from + 1) % nodes);
  }
  return pairs;
}

std::vector<std::pair<std::size_t, std::size_t>> DisjointPairs(std::size_t nodes) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0; i + 1 < nodes; i += 2) pairs.emplace_back(i, i + 1);
  return pairs;
}

std::vector<Row> LinkRows(std::size_t nodes, std::span<const PairSpeed> pairs,
                          std::span<const PairSpeed> at_once) {
  SHOAL_CHECK(!pairs.empty());
  std::vector<Row> rows;
  rows.push_back(MegabitRow(fmt::format("n={} one to one", nodes),
                            Median(pairs, &PairSpeed::bytes_per_second)));
  if (pairs.size() > 1) {
    const PairSpeed& slowest =
        *std::min_element(pairs.begin(), pairs.end(), [](const PairSpeed& a, const PairSpeed& b) {
          return a.bytes_per_second < b.bytes_per_second;
        });
    rows.push_back(
        MegabitRow(fmt::format("n={} slowest: {}", nodes, slowest.pair), slowest.bytes_per_second));
  }
  if (at_once.size() > 1) {
    rows.push_back(MegabitRow(fmt::format("n={} {} pairs at once, each", nodes, at_once.size()),
                              Median(at_once, &PairSpeed::bytes_per_second)));
  }
  rows.push_back({.name = fmt::format("n={} round trip", nodes),
                  .unit = "ms",
                  .higher_is_better = false,
                  .ours = Median(pairs, &PairSpeed::round_trip_seconds) * 1e3,
                  .peers = {},
                  .limit = {}});
  return rows;
}

double SecondsAtLeast(Kind::Kind kind, std::size_t nodes, double bytes, double bytes_per_second) {
  const auto count = static_cast<double>(nodes);
  const double times = kind == Kind::ALL_REDUCE ? 2 * (count - 1) / count : 1;
  return times * bytes / bytes_per_second;
}

std::vector<Row> CollectiveRows(const std::string& what, Kind::Kind kind, std::size_t nodes,
                                double bytes, double seconds, std::optional<double> rate) {
  const std::string name = fmt::format("n={} {:g} MB {}", nodes, bytes * 1e-6, what);
  Row time{.name = name,
           .unit = "s",
           .higher_is_better = false,
           .ours = seconds,
           .peers = {},
           .limit = {}};
  Row speed{.name = name,
            .unit = "MB/s",
            .higher_is_better = true,
            .ours = bytes * 1e-6 / seconds,
            .peers = {},
            .limit = {}};
  if (rate) {
    time.limit = SecondsAtLeast(kind, nodes, bytes, *rate);
    speed.limit = bytes * 1e-6 / *time.limit;
  }
  return {time, speed};
}

}  // namespace shoal
