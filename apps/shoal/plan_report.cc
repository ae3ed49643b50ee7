#include "shoal/plan_report.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace shoal {
namespace {

using pipeline::Objective;
using pipeline::PlannedReplica;
using pipeline::Prediction;
using pipeline::RouteStage;

std::size_t Place(NodeId id) { return static_cast<std::size_t>(ToNumber(id) - 2); }

std::string Line(std::string_view label, const std::string& value) {
  return fmt::format("{:<12} {}\n", label, value);
}

double Mib(std::uint64_t bytes) { return static_cast<double>(bytes) / 0x1p20; }

double StageMs(const PlanReport& report, const RouteStage& stage) {
  const pipeline::PlanCosts costs(report.model, report.nodes.cluster);
  return 1e3 * costs.Stage({Place(stage.node), stage.range}, 1);
}

// What would have to change for a token to come sooner.
std::string Limit(const PlanReport& report, const PlannedReplica& replica) {
  const Prediction& p = replica.prediction;
  std::string limit = "the nodes' memory bandwidth";
  if (p.hops_seconds > std::max(p.stages_seconds, p.head_seconds)) limit = "the links";
  if (p.head_seconds > std::max(p.stages_seconds, p.hops_seconds)) limit = "the head";
  std::uint64_t all = 0;
  for (const std::uint64_t bytes : replica.memory_bytes) all += bytes;
  const bool split_for_memory =
      replica.stages.size() > 1 && report.wish.objective == Objective::kTimePerToken &&
      std::none_of(report.nodes.cluster.nodes.begin(), report.nodes.cluster.nodes.end(),
                   [&](const pipeline::PlanNode& node) { return node.memory_bytes >= all; });
  if (split_for_memory) {
    limit += fmt::format("; split because no node has {:.0f} MiB for all layers", Mib(all));
  }
  return limit;
}

std::string Wanted(const pipeline::PlanWish& wish) {
  switch (wish.objective) {
    case Objective::kTimePerToken:
      return "the least time per token of one answer";
    case Objective::kFirstToken:
      return fmt::format("the first token of a prompt of {} as soon as can be", wish.prompt);
    case Objective::kThroughput:
      return fmt::format("the most tokens/s for {} users together", wish.users);
  }
  return "";
}

std::string ReplicaText(const PlanReport& report, std::size_t index) {
  const PlannedReplica& replica = report.plan.replicas[index];
  const Prediction& p = replica.prediction;
  std::string text = "\n";
  text +=
      Line(fmt::format("pipeline {}", index + 1),
           fmt::format("{:.1f} ms a token, {:.2f} tokens/s; with 8 users {:.2f}; first token of "
                       "64 after {:.2f} s",
                       1e3 * p.seconds_per_token, p.tokens_per_second_1, p.tokens_per_second_8,
                       p.first_token_seconds));
  std::size_t wide = 4;
  for (const RouteStage& stage : replica.stages) {
    wide = std::max(wide, report.nodes.names[Place(stage.node)].size());
  }
  text += fmt::format("  {:<{}}  {:>9}  {:>18}  {:>12}\n", "node", wide, "layers", "memory, MiB",
                      "ms a token");
  for (std::size_t i = 0; i < replica.stages.size(); ++i) {
    const RouteStage& stage = replica.stages[i];
    const std::size_t place = Place(stage.node);
    text += fmt::format("  {:<{}}  {:>9}  {:>18}  {:>12.2f}\n", report.nodes.names[place], wide,
                        fmt::format("{}-{}", stage.range.first, stage.range.end - 1),
                        fmt::format("{:.0f} of {:.0f}", Mib(replica.memory_bytes[i]),
                                    Mib(report.nodes.cluster.nodes[place].memory_bytes)),
                        StageMs(report, stage));
  }
  text += fmt::format(
      "  of a token: {:.1f} ms in the stages, {:.1f} ms on the way, {:.1f} ms in the head\n",
      1e3 * p.stages_seconds, 1e3 * p.hops_seconds, 1e3 * p.head_seconds);
  return text + fmt::format("  limited by {}\n", Limit(report, replica));
}

std::vector<std::string> SpareNames(const PlanReport& report) {
  std::vector<std::string> names;
  for (const NodeId id : report.plan.spares) names.push_back(report.nodes.names[Place(id)]);
  return names;
}

}  // namespace

std::string_view Name(Objective objective) {
  switch (objective) {
    case Objective::kTimePerToken:
      return "time-per-token";
    case Objective::kFirstToken:
      return "first-token";
    case Objective::kThroughput:
      return "throughput";
  }
  return "";
}

nlohmann::ordered_json ToJson(const PlanReport& report) {
  nlohmann::ordered_json replicas = nlohmann::ordered_json::array();
  for (const PlannedReplica& replica : report.plan.replicas) {
    const Prediction& p = replica.prediction;
    nlohmann::ordered_json stages = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < replica.stages.size(); ++i) {
      const RouteStage& stage = replica.stages[i];
      stages.push_back({{"node", report.nodes.names[Place(stage.node)]},
                        {"first_layer", stage.range.first},
                        {"end_layer", stage.range.end},
                        {"memory_bytes", replica.memory_bytes[i]},
                        {"ms_per_token", StageMs(report, stage)}});
    }
    replicas.push_back({{"stages", stages},
                        {"ms_per_token", 1e3 * p.seconds_per_token},
                        {"stages_ms", 1e3 * p.stages_seconds},
                        {"hops_ms", 1e3 * p.hops_seconds},
                        {"head_ms", 1e3 * p.head_seconds},
                        {"first_token_of_64_ms", 1e3 * p.first_token_seconds},
                        {"tokens_per_s_1", p.tokens_per_second_1},
                        {"tokens_per_s_8", p.tokens_per_second_8},
                        {"users", replica.users},
                        {"limited_by", Limit(report, replica)}});
  }
  return {{"model", report.model_name},
          {"objective", Name(report.wish.objective)},
          {"context", report.model.positions},
          {"users", report.wish.users},
          {"replicas", replicas},
          {"spares", SpareNames(report)},
          {"tokens_per_s_1", report.plan.tokens_per_second_1},
          {"tokens_per_s_8", report.plan.tokens_per_second_8},
          {"tokens_per_s", report.plan.tokens_per_second}};
}

std::string ToText(const PlanReport& report) {
  std::string text =
      Line("model", fmt::format("{}, {} layers, keys and values of {} tokens", report.model_name,
                                report.model.layers.size(), report.model.positions));
  text += Line("wanted", Wanted(report.wish));
  for (std::size_t i = 0; i < report.plan.replicas.size(); ++i) text += ReplicaText(report, i);
  text += "\n";
  if (const std::vector<std::string> spares = SpareNames(report); !spares.empty()) {
    text += Line("spares", fmt::format("{}", fmt::join(spares, ", ")));
  }
  return text + Line("all together",
                     fmt::format("{:.2f} tokens/s with 1 user, {:.2f} with 8, {:.2f} with {}",
                                 report.plan.tokens_per_second_1, report.plan.tokens_per_second_8,
                                 report.plan.tokens_per_second, report.wish.users));
}

}  // namespace shoal
