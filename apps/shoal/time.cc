// `shoal time`: how long each part of a network takes to train here, and in how much memory. Needs
// no data set: images are random.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bench/peak_bench.h"
#include "nn/net.h"
#include "nn/solver.h"
#include "os/machine/memory.h"
#include "os/machine/sys_root.h"
#include "shoal/commands.h"
#include "shoal/compute.h"
#include "shoal/net_inputs.h"
#include "shoal/time_report.h"
#include "shoal/zoo_files.h"

namespace shoal {
namespace {

struct TimeOptions {
  std::string net;
  std::string image;
  std::string memory;
  std::int64_t batch = 0;
  std::int64_t iterations = 5;
  bool forward_only = false;
  bool json = false;
  ComputeOptions compute;
};

// The fastest run of each step.
class StepTimer final : public nn::StepObserver {
 public:
  StepTimer(const Clock& clock, std::size_t nodes) : clock_(clock) {
    for (std::vector<double>& kind : seconds_) kind.assign(nodes, 0);
  }

  void OnStepBegin(const nn::Step&) override { begin_ = clock_.Now(); }
  void OnStepEnd(const nn::Step& step) override {
    double& best = seconds_[static_cast<std::size_t>(step.kind)][step.node];
    const double seconds = std::max(ToSeconds(clock_.Now() - begin_), 1e-9);
    best = best == 0 ? seconds : std::min(best, seconds);
  }

  double seconds(nn::StepKind kind, std::size_t node) const {
    return seconds_[static_cast<std::size_t>(kind)][node];
  }

 private:
  const Clock& clock_;
  Instant begin_;
  std::array<std::vector<double>, 3> seconds_;
};

// As Caffe calls the layers; in the order of nn::OpDef.
std::string KindName(const nn::OpDef& op) {
  static constexpr std::array<const char*, std::variant_size_v<nn::OpDef>> kNames = {
      "Input",   "Convolution", "InnerProduct",  "Pooling",  "LRN",     "BatchNorm",
      "Scale",   "Bias",        "ReLU",          "Sigmoid",  "TanH",    "Dropout",
      "Concat",  "Eltwise",     "Split",         "Slice",    "Reshape", "Flatten",
      "Softmax", "SoftmaxLoss", "EuclideanLoss", "Accuracy", "Silence"};
  return kNames[op.index()];
}

std::vector<NodeTimes> NodesOf(const nn::NetDef& def, const nn::Graph& graph,
                               const StepTimer& timer) {
  std::map<std::string, std::string> kinds;
  for (const nn::LayerDef& layer : def.layers) kinds[layer.name] = KindName(layer.op);
  std::vector<NodeTimes> nodes;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const nn::Node& node = graph.nodes()[i];
    NodeTimes times{.layers = node.name,
                    .kind = node.layers.empty() ? "" : kinds[node.layers[0]],
                    .implementations = node.op->implementations(),
                    .forward = timer.seconds(nn::StepKind::kForward, i),
                    .backward = timer.seconds(nn::StepKind::kBackward, i),
                    .again = timer.seconds(nn::StepKind::kAgain, i)};
    if (!times.implementations.empty()) {
      times.forward_flops = 2 * node.op->multiply_adds();
      const int gradients =
          node.runs_backward ? int{node.input_gradients[0]} + int{node.param_gradients[0]} : 0;
      times.backward_flops = gradients * times.forward_flops;
    }
    nodes.push_back(std::move(times));
  }
  return nodes;
}

std::uint64_t Resident() {
  const os::MemoryInfo memory = os::ReadMemoryInfo(os::SysRoot());
  return memory.bytes_resident.ok() ? *memory.bytes_resident : 0;
}

std::uint64_t PeakResident() {
  const Result<std::uint64_t> peak = os::ReadPeakResident(os::SysRoot());
  return peak.ok() ? *peak : 0;
}

// What remains of `memory` for the arena once the process and the parameters have theirs.
Result<std::size_t> ArenaBytes(const std::string& memory, std::uint64_t idle,
                               std::uint64_t parameters) {
  if (memory.empty()) return std::size_t{0};
  constexpr std::uint64_t kSlack = std::uint64_t{24} << 20U;  // Code, stacks, what libraries keep.
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t limit, ParseBytes(memory));
  const std::uint64_t taken = idle + kSlack + parameters;
  if (taken >= limit) {
    return Status(Code::kResourceExhausted,
                  fmt::format("--memory {}: the program and the parameters alone take {} MiB",
                              memory, taken >> 20U));
  }
  return static_cast<std::size_t>(limit - taken);
}

// Runs and measures; `report` knows already what was to be known before.
Status Measure(const TimeOptions& options, const caffe::Network& network, Compute& compute,
               nn::ParamStore& params, nn::Net& net, TimeReport& report) {
  const nn::SolverDef solver_def{.base_lr = 1e-4F, .momentum = 0.9F, .weight_decay = 1e-4F};
  std::unique_ptr<nn::Solver> solver;
  if (!options.forward_only) {
    SHOAL_ASSIGN_OR_RETURN(solver, nn::Solver::Make(solver_def, params, compute.parallel()));
  }
  StepTimer timer(compute.clock(), net.graph().nodes().size());
  constexpr std::int64_t kWarmUps = 1;
  std::vector<double> seconds;
  for (std::int64_t i = 0; i < kWarmUps + options.iterations; ++i) {
    if (i == kWarmUps) net.set_observer(&timer);
    FillInputs(network, static_cast<std::uint64_t>(i), net);
    const Instant begin = compute.clock().Now();
    SHOAL_ASSIGN_OR_RETURN(report.loss, net.Forward(static_cast<std::uint64_t>(i)));
    Instant end = compute.clock().Now();
    if (solver != nullptr) {
      net.Backward(false);
      const Instant update = compute.clock().Now();
      solver->Update(report.loss);
      end = compute.clock().Now();
      const double taken = ToSeconds(end - update);
      report.update_seconds = i <= kWarmUps ? taken : std::min(report.update_seconds, taken);
    }
    if (i >= kWarmUps) seconds.push_back(std::max(ToSeconds(end - begin), 1e-9));
  }
  net.set_observer(nullptr);
  std::sort(seconds.begin(), seconds.end());
  report.seconds_best = seconds.front();
  report.seconds_median = seconds[seconds.size() / 2];
  report.nodes = NodesOf(network.net, net.graph(), timer);
  return {};
}

std::int64_t BatchOf(const nn::Graph& graph) {
  for (const std::size_t value : graph.inputs()) {
    const Shape& shape = graph.values()[value].shape;
    if (shape.rank() > 0) return shape[0];
  }
  return 1;
}

Result<TimeReport> Time(const TimeOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(const caffe::NetFile file, ReadNetFile(options.net));
  SHOAL_ASSIGN_OR_RETURN(caffe::Network network, file.Build({}));
  InputWishes wishes{.batch = options.batch};
  if (!options.image.empty()) {
    SHOAL_ASSIGN_OR_RETURN(wishes.image, ParseImageShape(options.image));
  } else if (options.net.starts_with("zoo:")) {
    wishes.image = ZooImage(options.net.substr(4));
  }
  nn::NetOptions net_options{.backward = !options.forward_only};
  auto shapes = InputShapes(wishes, network);
  if (!shapes.ok()) return std::move(shapes).status().Annotate(options.net);
  net_options.input_shapes = *std::move(shapes);

  SHOAL_ASSIGN_OR_RETURN(const std::unique_ptr<Compute> compute, Compute::Make(options.compute));
  TimeReport report{.net = options.net,
                    .threads = compute->parallel().workers(),
                    .backend = options.compute.backend,
                    .iterations = options.iterations,
                    .idle_bytes = Resident(),
                    .copies = options.forward_only ? std::size_t{1} : std::size_t{3},
                    .nodes = {}};
  {
    nn::ParamStore counted;
    const auto graph =
        nn::Graph::Build(network.net, {.input_shapes = net_options.input_shapes}, counted);
    if (!graph.ok()) return Status(graph.status()).Annotate(options.net);
    report.parameter_bytes = counted.elements() * sizeof(float);
  }
  SHOAL_ASSIGN_OR_RETURN(net_options.bytes_max, ArenaBytes(options.memory, report.idle_bytes,
                                                           report.copies * report.parameter_bytes));
  nn::ParamStore params;
  auto net =
      nn::Net::Build(network.net, net_options, params, compute->tuner(), compute->parallel());
  if (!net.ok()) return std::move(net).status().Annotate(options.net);
  compute->SaveTimes();
  SHOAL_RETURN_IF_ERROR(params.Allocate(1, !options.forward_only));
  report.batch = BatchOf((*net)->graph());
  report.tuned = compute->tuner().measured();
  report.arena_bytes = (*net)->arena_bytes();
  report.again_share = (*net)->plan().again_cost / std::max((*net)->plan().forward_cost, 1.0);
  SHOAL_RETURN_IF_ERROR(Measure(options, network, *compute, params, **net, report));
  report.peak_bytes = PeakResident();
  report.peak_gflops = bench::PeakGflops(compute->parallel(), kernels::BestTarget(), {});
  return report;
}

Status RunTime(const TimeOptions& options) {
  SHOAL_ASSIGN_OR_RETURN(const TimeReport report, Time(options));
  fmt::print("{}", options.json ? ToJson(report).dump(2) + "\n" : ToText(report));
  return {};
}

}  // namespace

void AddTime(CLI::App& app) {
  auto options = std::make_shared<TimeOptions>();  // Lives as long as the callback.
  CLI::App* command =
      app.add_subcommand("time", "Measure how fast a network trains here, layer by layer");
  command->add_option("--net", options->net, "A prototxt, or zoo:NAME")->required();
  command->add_option("--batch", options->batch, "Images at a time, instead of the file's")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--input", options->image, "An image, if the file does not say: 3x32x32")
      ->type_name("CxHxW");
  command->add_option("--iterations", options->iterations, "How many to measure, after one")
      ->check(CLI::Range(1, 1000000));
  command->add_option("--memory", options->memory, "Use no more than this, computing values again")
      ->type_name("SIZE");
  command->add_flag("--forward-only", options->forward_only, "No gradients, no update");
  command->add_flag("--json", options->json, "Print one JSON object");
  AddComputeOptions(*command, options->compute);
  command->callback([options] { ExitOnError(RunTime(*options)); });
}

}  // namespace shoal
