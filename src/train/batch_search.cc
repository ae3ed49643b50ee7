#include "train/batch_search.h"

#include <fmt/format.h>

#include <algorithm>

#include "nn/first_supported.h"
#include "nn/graph.h"
#include "nn/plan.h"

namespace shoal::train {
namespace {

// Of the forward steps' work; backward has twice as much again.
constexpr double kAgainShareMax = 0.3;

Result<nn::Graph> PreparedGraph(const Model& model, std::int64_t batch, bool backward,
                                nn::ParamStore& params, Parallel& parallel) {
  SHOAL_ASSIGN_OR_RETURN(
      nn::Graph graph,
      nn::Graph::Build(model.def(),
                       {.input_shapes = model.InputShapes(batch), .backward = backward}, params));
  nn::FirstSupported chooser;
  for (nn::Node& node : graph.nodes()) {
    const nn::OpWants wants{.backward = node.runs_backward,
                            .input_gradients = node.input_gradients,
                            .param_gradients = node.param_gradients};
    SHOAL_RETURN_IF_ERROR(node.op->Prepare(wants, parallel.workers(), chooser));
  }
  return graph;
}

// Whether a batch fits; a failure if the network is wrong at any batch.
Result<bool> Fits(const Model& model, std::int64_t batch, std::size_t bytes_max, std::size_t copies,
                  Parallel& parallel) {
  nn::ParamStore params;
  SHOAL_ASSIGN_OR_RETURN(const nn::Graph graph,
                         PreparedGraph(model, batch, true, params, parallel));
  const std::size_t fixed = FixedBytes(model, params.elements(), copies, batch);
  if (fixed >= bytes_max) return false;
  const Result<nn::Plan> plan = nn::MakePlan(graph, bytes_max - fixed);
  if (!plan.ok() && plan.status().code() == Code::kResourceExhausted) return false;
  if (!plan.ok()) return plan.status();
  return plan->again_cost <= kAgainShareMax * plan->forward_cost;
}

}  // namespace

std::size_t FixedBytes(const Model& model, std::size_t param_floats, std::size_t copies,
                       std::int64_t batch) {
  return copies * param_floats * sizeof(float) + model.LoaderBytes(batch);
}

Result<std::int64_t> LargestBatch(const Model& model, std::size_t bytes_max, std::size_t copies,
                                  Parallel& parallel) {
  std::int64_t good = 0;
  std::int64_t bad = kBatchMax + 1;
  std::int64_t tried = 1;
  while (good + 1 < bad) {
    SHOAL_ASSIGN_OR_RETURN(const bool fits, Fits(model, tried, bytes_max, copies, parallel));
    (fits ? good : bad) = tried;
    // Doubles until something is too large, then halves what is in between.
    tried = bad > kBatchMax ? std::min(2 * good, kBatchMax) : (good + bad) / 2;
  }
  if (good == 0) {
    return Status(Code::kResourceExhausted,
                  fmt::format("not even a batch of one image fits {:.0f} MiB",
                              static_cast<double>(bytes_max) / (1 << 20)));
  }
  return good;
}

Result<std::size_t> TestArenaBytes(const Model& model, Parallel& parallel) {
  nn::ParamStore params;
  SHOAL_ASSIGN_OR_RETURN(const nn::Graph graph, PreparedGraph(model, 0, false, params, parallel));
  SHOAL_ASSIGN_OR_RETURN(const nn::Plan plan, nn::MakePlan(graph, 0));
  return plan.floats * sizeof(float);
}

}  // namespace shoal::train
