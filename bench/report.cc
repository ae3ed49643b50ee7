#include "bench/report.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/target.h"
#include "os/machine/cpu.h"
#include "os/machine/sys_root.h"

namespace shoal::bench {
namespace {

using Json = nlohmann::ordered_json;

// Four digits say all that a noisy machine lets us know.
double Rounded(double x) { return x == 0 ? 0 : std::stod(fmt::format("{:.4g}", x)); }

Json MachineJson() {
  const os::CpuInfo cpu = os::ReadCpuInfo(os::SysRoot());
  return {
      {"cpu", cpu.chip}, {"cores", cpu.cores.size()}, {"targets", kernels::SupportedTargetNames()}};
}

Json RowJson(const Row& row) {
  Json json = {{"case", row.name},
               {"unit", row.unit},
               {"higher_is_better", row.higher_is_better},
               {"ours", Rounded(row.ours)}};
  Json peers = Json::object();
  Json ratios = Json::object();
  for (const auto& [name, figure] : row.peers) {
    peers[name] = Rounded(figure);
    ratios[name] = Rounded(Ratio(row, figure));
  }
  json["peers"] = peers;
  json["ratio"] = ratios;
  if (row.limit) {
    json["limit"] = Rounded(*row.limit);
    json["share"] = Rounded(Ratio(row, *row.limit));
  }
  return json;
}

// All peers that some row has, in order of appearance.
std::vector<std::string> PeerNames(const Report& report) {
  std::vector<std::string> names;
  for (const Row& row : report.rows) {
    for (const auto& [name, figure] : row.peers) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::optional<double> Figure(const Row& row, const std::string& peer) {
  for (const auto& [name, figure] : row.peers) {
    if (name == peer) return figure;
  }
  return std::nullopt;
}

std::string Cell(std::optional<double> figure) {
  return figure ? fmt::format("{:>12.4g}", *figure) : fmt::format("{:>12}", "-");
}

// Of the column of a peer: its name may be long.
std::size_t PeerWidth(const std::string& name) {
  return std::max<std::size_t>(12, name.size() + 2);
}

}  // namespace

double Ratio(const Row& row, double peer) {
  return row.higher_is_better ? row.ours / peer : peer / row.ours;
}

std::vector<std::pair<std::string, double>> Geomeans(const Report& report) {
  std::vector<std::pair<std::string, double>> means;
  for (const std::string& name : PeerNames(report)) {
    double log_sum = 0;
    int count = 0;
    for (const Row& row : report.rows) {
      if (const std::optional<double> figure = Figure(row, name)) {
        log_sum += std::log(Ratio(row, *figure));
        ++count;
      }
    }
    means.emplace_back(name, std::exp(log_sum / count));
  }
  return means;
}

Json ToJson(const Report& report) {
  Json results = Json::array();
  for (const Row& row : report.rows) results.push_back(RowJson(row));
  Json geomean = Json::object();
  for (const auto& [name, mean] : Geomeans(report)) geomean[name] = Rounded(mean);
  return {{"bench", report.bench},
          {"machine", MachineJson()},
          {"results", results},
          {"geomean", geomean}};
}

std::string ToTable(const Report& report) {
  const std::vector<std::string> names = PeerNames(report);
  std::size_t width = 4;
  for (const Row& row : report.rows) width = std::max(width, row.name.size());
  std::string text = fmt::format("{:<{}}  {:<10}{:>12}", "case", width, "unit", "ours");
  for (const std::string& name : names) {
    text += fmt::format("{:>{}}{:>8}", name, PeerWidth(name), "ratio");
  }
  text += fmt::format("{:>12}{:>8}\n", "limit", "share");
  for (const Row& row : report.rows) {
    text += fmt::format("{:<{}}  {:<10}{}", row.name, width, row.unit, Cell(row.ours));
    for (const std::string& name : names) {
      const std::optional<double> figure = Figure(row, name);
      text += fmt::format("{:>{}}", Cell(figure), PeerWidth(name));
      text += figure ? fmt::format("{:>8.2f}", Ratio(row, *figure)) : fmt::format("{:>8}", "-");
    }
    text += Cell(row.limit);
    text +=
        row.limit ? fmt::format("{:>8.2f}\n", Ratio(row, *row.limit)) : fmt::format("{:>8}\n", "-");
  }
  for (const auto& [name, mean] : Geomeans(report)) {
    text += fmt::format("geometric mean against {}: {:.3f}\n", name, mean);
  }
  return text;
}

void Print(const Report& report, bool json) {
  fmt::print("{}", json ? ToJson(report).dump() + "\n" : ToTable(report));
}

}  // namespace shoal::bench
