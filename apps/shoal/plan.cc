// `shoal plan`: how a model would be spread over phones, and what they would give, without any
// cluster.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "llm/model_size.h"
#include "os/file.h"
#include "pipeline/planner.h"
#include "shoal/commands.h"
#include "shoal/model_files.h"
#include "shoal/model_report.h"
#include "shoal/objective_option.h"
#include "shoal/plan_nodes.h"
#include "shoal/plan_report.h"

namespace shoal {
namespace {

constexpr std::size_t kNodesFileMax = std::size_t{64} << 20U;

struct PlanOptions {
  std::string nodes;
  std::string model;
  std::uint64_t context = 0;
  bool json = false;
  pipeline::PlanWish wish;
};

pipeline::PlanModel CostsOf(const OpenedModel& model, std::uint64_t context) {
  const llm::ModelConfig& config = model.config;
  const llm::ModelSize size = MeasureModel(model.weights, config);
  const llm::RowWork row = MeasureRow(config);
  pipeline::PlanModel costs;
  costs.dim = static_cast<std::uint64_t>(config.dim);
  costs.positions = context;
  for (const std::uint64_t bytes : size.layer_bytes) {
    costs.layers.push_back(
        {.weight_bytes = bytes,
         .row_bytes = static_cast<std::uint64_t>(row.share * static_cast<double>(bytes)),
         .multiply_adds = row.multiply_adds,
         .kv_bytes_per_position =
             static_cast<std::uint64_t>(KvBytesPerToken(config) / config.layers)});
  }
  // The embedding is as large as the output matrix, and only looked up.
  costs.output.weight_bytes = config.tied_embeddings ? size.head_bytes : size.head_bytes / 2;
  costs.output.multiply_adds = static_cast<double>(config.vocab) * static_cast<double>(config.dim);
  return costs;
}

Status PrintPlan(const PlanOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(const std::string text, os::ReadFile(options.nodes, kNodesFileMax));
  PlanReport report;
  SHOAL_ASSIGN_OR_RETURN(report.nodes, ParsePlanNodes(options.nodes, text));
  SHOAL_ASSIGN_OR_RETURN(const OpenedModel model, OpenModel(options.model));
  const auto context = static_cast<std::uint64_t>(std::min(kDefaultContext, model.config.context));
  report.model_name = model.name.empty() ? options.model : model.name;
  report.model = CostsOf(model, options.context != 0 ? options.context : context);
  report.wish = options.wish;
  SHOAL_ASSIGN_OR_RETURN(report.plan,
                         PlanPipelines(report.model, report.nodes.cluster, report.wish));
  fmt::print("{}", options.json ? ToJson(report).dump(2) + "\n" : ToText(report));
  return {};
}

}  // namespace

void AddPlan(CLI::App& app) {
  auto options = std::make_shared<PlanOptions>();  // Lives as long as the callback.
  CLI::App* command =
      app.add_subcommand("plan", "What phones would give with a model, before there is a cluster");
  command->add_option("--nodes", options->nodes, "JSON with what the phones can do")->required();
  command->add_option("--model", options->model, "As in `shoal model info`")->required();
  AddObjectiveOption(*command, options->wish.objective);
  command->add_option("--context", options->context, "Tokens whose keys and values phones keep")
      ->check(CLI::Range(1, 1 << 30));
  command->add_option("--users", options->wish.users, "Who ask at the same time")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options] { ExitOnError(PrintPlan(*options)); });
}

}  // namespace shoal
