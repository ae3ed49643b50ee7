#include "shoal/time_report.h"

#include <fmt/core.h>

#include <algorithm>

namespace shoal {
namespace {

constexpr double kMib = 0x1p20;

double Gflops(double flops, double seconds) { return seconds > 0 ? flops / seconds * 1e-9 : 0; }

double Milliseconds(double seconds) { return seconds * 1e3; }

double Sum(const TimeReport& report, double NodeTimes::*what) {
  double sum = 0;
  for (const NodeTimes& node : report.nodes) sum += node.*what;
  return sum;
}

double Rounded(double value) {
  return static_cast<double>(static_cast<std::int64_t>(value * 1e4 + (value < 0 ? -0.5 : 0.5))) /
         1e4;
}

double Mib(std::uint64_t bytes) { return static_cast<double>(bytes) / kMib; }

nlohmann::ordered_json NodeToJson(const NodeTimes& node) {
  nlohmann::ordered_json json = {{"layers", node.layers}, {"kind", node.kind}};
  if (!node.implementations.empty()) json["implementations"] = node.implementations;
  json["forward_ms"] = Rounded(Milliseconds(node.forward));
  if (node.backward > 0) json["backward_ms"] = Rounded(Milliseconds(node.backward));
  if (node.again > 0) json["recompute_ms"] = Rounded(Milliseconds(node.again));
  if (node.forward_flops > 0) {
    json["forward_gflops"] = Rounded(Gflops(node.forward_flops, node.forward));
  }
  if (node.backward_flops > 0) {
    json["backward_gflops"] = Rounded(Gflops(node.backward_flops, node.backward));
  }
  return json;
}

nlohmann::ordered_json MemoryToJson(const TimeReport& report) {
  return {{"arena_mib", Rounded(Mib(report.arena_bytes))},
          {"parameters_mib", Rounded(Mib(report.parameter_bytes))},
          {"idle_mib", Rounded(Mib(report.idle_bytes))},
          {"peak_mib", Rounded(Mib(report.peak_bytes))},
          {"extra_mib", Rounded(report.extra_bytes() / kMib)},
          {"recomputed_share", Rounded(report.again_share)}};
}

std::string Cell(double value) { return value > 0 ? fmt::format("{:.2f}", value) : "-"; }
std::string Speed(double value) { return value > 0 ? fmt::format("{:.0f}", value) : "-"; }

std::string NodesToText(const TimeReport& report) {
  std::size_t width = 6;
  for (const NodeTimes& node : report.nodes) width = std::max(width, node.layers.size());
  width = std::min<std::size_t>(width, 48);
  std::string text =
      fmt::format("{:<{}}  {:<14} {:>8} {:>8} {:>8} {:>8} {:>8}  {}\n", "layers", width, "kind",
                  "forward", "backward", "again", "GFLOP/s", "GFLOP/s", "convolution by");
  for (const NodeTimes& node : report.nodes) {
    text += fmt::format(
        "{:<{}}  {:<14} {:>8} {:>8} {:>8} {:>8} {:>8}  {}\n", node.layers.substr(0, width), width,
        node.kind, Cell(Milliseconds(node.forward)), Cell(Milliseconds(node.backward)),
        Cell(Milliseconds(node.again)), Speed(Gflops(node.forward_flops, node.forward)),
        Speed(Gflops(node.backward_flops, node.backward)), node.implementations);
  }
  return text;
}

}  // namespace

double TimeReport::flops() const {
  double sum = 0;
  for (const NodeTimes& node : nodes) sum += node.forward_flops + node.backward_flops;
  return sum;
}

double TimeReport::extra_bytes() const {
  return static_cast<double>(peak_bytes) - static_cast<double>(idle_bytes) -
         static_cast<double>(copies * parameter_bytes);
}

nlohmann::ordered_json ToJson(const TimeReport& report) {
  const auto batch = static_cast<double>(report.batch);
  const double gflops = Gflops(report.flops(), report.seconds_best);
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
  for (const NodeTimes& node : report.nodes) nodes.push_back(NodeToJson(node));
  return {{"net", report.net},
          {"batch", report.batch},
          {"threads", report.threads},
          {"backend", report.backend},
          {"iterations", report.iterations},
          {"images_per_s", Rounded(batch / report.seconds_best)},
          {"images_per_s_median", Rounded(batch / report.seconds_median)},
          {"ms", Rounded(Milliseconds(report.seconds_best))},
          {"ms_median", Rounded(Milliseconds(report.seconds_median))},
          {"forward_ms", Rounded(Milliseconds(Sum(report, &NodeTimes::forward)))},
          {"backward_ms", Rounded(Milliseconds(Sum(report, &NodeTimes::backward)))},
          {"recompute_ms", Rounded(Milliseconds(Sum(report, &NodeTimes::again)))},
          {"update_ms", Rounded(Milliseconds(report.update_seconds))},
          {"gflop", Rounded(report.flops() * 1e-9)},
          {"gflops", Rounded(gflops)},
          {"peak_gflops", Rounded(report.peak_gflops)},
          {"peak_share", Rounded(gflops / report.peak_gflops)},
          {"loss", report.loss},
          {"tuned", report.tuned},
          {"memory", MemoryToJson(report)},
          {"nodes", std::move(nodes)}};
}

std::string ToText(const TimeReport& report) {
  const auto batch = static_cast<double>(report.batch);
  const double gflops = Gflops(report.flops(), report.seconds_best);
  std::string text = NodesToText(report);
  text += fmt::format(
      "\n{}, batch {}, {} threads, backend {}, {} iterations; milliseconds of the fastest\n",
      report.net, report.batch, report.threads, report.backend, report.iterations);
  text += fmt::format("  iteration   {:.2f} ms = {:.2f} images/s (median {:.2f} ms, {:.2f})\n",
                      Milliseconds(report.seconds_best), batch / report.seconds_best,
                      Milliseconds(report.seconds_median), batch / report.seconds_median);
  text += fmt::format(
      "  of which    forward {:.2f}, backward {:.2f}, computing again {:.2f}, update {:.2f} ms\n",
      Milliseconds(Sum(report, &NodeTimes::forward)),
      Milliseconds(Sum(report, &NodeTimes::backward)), Milliseconds(Sum(report, &NodeTimes::again)),
      Milliseconds(report.update_seconds));
  text +=
      fmt::format("  arithmetic  {:.1f} GFLOP/s, {:.1f} % of the {:.1f} that FP32 can be here\n",
                  gflops, gflops / report.peak_gflops * 100, report.peak_gflops);
  text += fmt::format(
      "  memory      arena {:.1f} MiB, peak {:.1f} MiB: {:.1f} MiB beyond the idle process and "
      "{} x {:.1f} MiB of parameters\n",
      Mib(report.arena_bytes), Mib(report.peak_bytes), report.extra_bytes() / kMib, report.copies,
      Mib(report.parameter_bytes));
  return text;
}

}  // namespace shoal
