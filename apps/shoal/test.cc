// `shoal test`: the scores of a trained network on the data of its TEST phase; `shoal plot`: the
// curves of a run's log.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/conv.h"
#include "os/file.h"
#include "shoal/commands.h"
#include "shoal/compute.h"
#include "shoal/solver_files.h"
#include "train/curves.h"
#include "train/model.h"
#include "train/weights.h"

namespace shoal {
namespace {

struct TestCommand {
  std::string net;
  std::vector<std::string> weights;
  std::int64_t iterations = 0;
  bool json = false;
  ComputeOptions compute;
};

struct PlotCommand {
  std::string log;
  std::string out;
};

// As many batches as the smallest number that shows every image.
std::int64_t OneEpoch(const train::Model& model) {
  std::int64_t batches = 1;
  for (const auto& feed : model.feeds()) {
    const std::int64_t batch = feed->def().batch;
    batches = std::max(batches, (feed->size() + batch - 1) / batch);
  }
  return batches;
}

void PrintScores(const TestCommand& command, std::int64_t batches, std::int64_t batch,
                 double seconds, const std::vector<train::NamedValue>& scores) {
  const auto images = static_cast<double>(batches * batch);
  if (command.json) {
    nlohmann::ordered_json json = {{"net", command.net},
                                   {"iterations", batches},
                                   {"batch", batch},
                                   {"seconds", seconds},
                                   {"images_per_s", images / seconds},
                                   {"outputs", nlohmann::ordered_json::object()}};
    for (const train::NamedValue& score : scores) json["outputs"][score.name] = score.value;
    fmt::print("{}\n", json.dump(2));
    return;
  }
  for (const train::NamedValue& score : scores) fmt::print("{} {:.6g}\n", score.name, score.value);
  fmt::print("{} batches of {} images, {:.0f} images/s\n", batches, batch, images / seconds);
}

Status RunTest(const TestCommand& command) {
  const FileFinder finder(command.net);
  std::vector<std::string> warnings;
  SHOAL_ASSIGN_OR_RETURN(caffe::Network network,
                         ReadNetwork(command.net, nn::Phase::kTest, finder, warnings));
  for (const std::string& warning : warnings) fmt::print(stderr, "shoal: {}\n", warning);
  SHOAL_ASSIGN_OR_RETURN(const auto model,
                         train::Model::Open(std::move(network), {}, finder.reader()));
  if (model->feeds().empty()) {
    return Status(Code::kInvalidArgument,
                  command.net + ": no layer brings data in the TEST phase: nothing to test with");
  }
  const std::string& backend = command.compute.backend;
  if (backend != "auto" && backend != "portable") {
    SHOAL_RETURN_IF_ERROR(kernels::EnableConvImplementation(backend));
  }
  SHOAL_ASSIGN_OR_RETURN(const auto compute, Compute::Make(command.compute));
  nn::ParamStore params;
  SHOAL_RETURN_IF_ERROR(model->Build({}, params, compute->tuner(), compute->parallel()));
  compute->SaveTimes();
  SHOAL_RETURN_IF_ERROR(params.Allocate(1, false));
  for (const std::string& path : command.weights) {
    SHOAL_ASSIGN_OR_RETURN(const std::string bytes, ReadWhole(path));
    SHOAL_RETURN_IF_ERROR(train::LoadWeights(path, bytes, params));
  }
  SHOAL_RETURN_IF_ERROR(model->Start({}));
  const std::int64_t batches = command.iterations > 0 ? command.iterations : OneEpoch(*model);
  const Instant begin = compute->clock().Now();
  SHOAL_ASSIGN_OR_RETURN(const auto scores, train::AverageScores(*model, batches));
  PrintScores(command, batches, model->batch(), ToSeconds(compute->clock().Now() - begin), scores);
  return {};
}

Status RunPlot(const PlotCommand& command) {
  SHOAL_ASSIGN_OR_RETURN(const std::string text, ReadWhole(command.log));
  SHOAL_ASSIGN_OR_RETURN(const train::RunLog log, train::ParseLog(command.log, text));
  std::string title = std::filesystem::path(command.log).filename().string();
  title = title.substr(0, title.find(".log.jsonl"));
  return os::WriteFileAtomically(command.out, train::CurvesHtml(title, log),
                                 os::FileAccess::kEveryone);
}

}  // namespace

void AddTest(CLI::App& app) {
  auto options = std::make_shared<TestCommand>();
  CLI::App* command = app.add_subcommand("test", "Score a trained network on its test data");
  command->add_option("--net", options->net, "The network's prototxt")->required();
  command->add_option("--weights", options->weights, ".caffemodel files")
      ->delimiter(',')
      ->required();
  command->add_option("--iterations", options->iterations, "Batches; else all images once")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40U));
  command->add_flag("--json", options->json, "Print one JSON object");
  AddComputeOptions(*command, options->compute);
  command->callback([options] { ExitOnError(RunTest(*options)); });
}

void AddPlot(CLI::App& app) {
  auto options = std::make_shared<PlotCommand>();
  CLI::App* command = app.add_subcommand("plot", "Draw the curves of a training's log");
  command->add_option("log", options->log, "A .log.jsonl file")->required();
  command->add_option("out", options->out, "The HTML page to write")->required();
  command->callback([options] { ExitOnError(RunPlot(*options)); });
}

}  // namespace shoal
