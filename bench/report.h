// Report: the one shape of every benchmark's result, as JSON and as a table. A ratio
// above 1 always means that Shoal is better.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shoal::bench {

struct Row {
  std::string name;  // What was measured: "m=196 n=256 k=2304 t=2".
  std::string unit;  // "GFLOP/s"
  bool higher_is_better = true;
  double ours = 0;
  std::vector<std::pair<std::string, double>> peers;  // Name and figure, in one order.
  std::optional<double> limit;                        // What the hardware allows, if known.
};

struct Report {
  std::string bench;  // "gemm"
  std::vector<Row> rows;
};

// How many times better ours is than `peer`.
double Ratio(const Row& row, double peer);

// The peers with the geometric mean of ours against each, over the rows that have it.
std::vector<std::pair<std::string, double>> Geomeans(const Report& report);

// {"bench", "machine", "results": [{"case", "unit", "higher_is_better", "ours", "peers",
// "ratio", "limit", "share"}], "geomean"}; share: how much of the limit is reached.
nlohmann::ordered_json ToJson(const Report& report);

// The same columns, aligned.
std::string ToTable(const Report& report);

// Prints one or the other to stdout.
void Print(const Report& report, bool json);

}  // namespace shoal::bench
