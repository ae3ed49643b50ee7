// What `shoal bench link` and `shoal bench allreduce` say about what they measured, and which
// cases they measure. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/report.h"
#include "collective/link_model.h"
#include "wire/control.h"

namespace shoal {

// Numbers of nodes that are looked at, up to all of them: each while they are few.
std::vector<std::size_t> NodeCounts(std::size_t nodes);
// Neighbours in a ring of so many, at most `limit` of these pairs.
std::vector<std::pair<std::size_t, std::size_t>> RingPairs(std::size_t nodes, std::size_t limit);
// Pairs of which no two share a node.
std::vector<std::pair<std::size_t, std::size_t>> DisjointPairs(std::size_t nodes);

struct PairSpeed {
  std::string pair;  // "worker-1 and worker-2"
  double round_trip_seconds = 0;
  double bytes_per_second = 0;
};
// Speed and round trip between two of `nodes`: medians over the pairs, and the slowest. `at_once`:
// of pairs that all sent at the same time; may be empty. REQUIRES: pairs.
std::vector<bench::Row> LinkRows(std::size_t nodes, std::span<const PairSpeed> pairs,
                                 std::span<const PairSpeed> at_once);

// The least that a collective of so many bytes can take on links of one speed, whatever the
// algorithm: what every node, or the root, must send and receive.
double SecondsAtLeast(wire::pb::TrainTrial::Kind kind, std::size_t nodes, double bytes,
                      double bytes_per_second);

// Its time and speed. `rate`: of the slowest link, if known.
std::vector<bench::Row> CollectiveRows(const std::string& what, wire::pb::TrainTrial::Kind kind,
                                       std::size_t nodes, double bytes, double seconds,
                                       std::optional<double> rate);

}  // namespace shoal
