#include "train/cluster/net_work.h"

#include <algorithm>

namespace shoal::train {
namespace {

double Count(const std::vector<bool>& wanted) {
  return static_cast<double>(std::count(wanted.begin(), wanted.end(), true));
}

// Of one pass over a node.
PartCost PassCost(const nn::Graph& graph, const nn::ParamStore& params, const nn::Node& node,
                  std::size_t batch) {
  double elements = 0;
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (const std::size_t value : *values) {
      elements += static_cast<double>(graph.values()[value].shape.elements());
    }
  }
  double floats = 0;
  for (const nn::ParamId id : node.params) {
    floats += static_cast<double>(params[id].spec.layout.elements());
  }
  const auto samples = static_cast<double>(batch);
  return {.per_sample = {.operations = (2 * node.op->multiply_adds() + elements) / samples,
                         .bytes_moved = elements * sizeof(float) / samples},
          .fixed = {.bytes_moved = floats * sizeof(float)}};
}

}  // namespace

Work PartCost::For(std::size_t samples) const {
  const auto n = static_cast<double>(samples);
  return {.operations = fixed.operations + n * per_sample.operations,
          .bytes_moved = fixed.bytes_moved + n * per_sample.bytes_moved};
}

PartCost& PartCost::operator+=(const PartCost& other) {
  per_sample.operations += other.per_sample.operations;
  per_sample.bytes_moved += other.per_sample.bytes_moved;
  fixed.operations += other.fixed.operations;
  fixed.bytes_moved += other.fixed.bytes_moved;
  return *this;
}

PartCost NetWork::AllBackward() const {
  PartCost all;
  for (const PartCost& stage : backward) all += stage;
  return all;
}

NetWork CountWork(const nn::Graph& graph, const nn::ParamStore& params,
                  const nn::GradientPlan& plan, std::size_t batch) {
  NetWork work;
  for (const nn::Node& node : graph.nodes()) {
    work.forward += PassCost(graph, params, node, batch);
  }
  work.backward.resize(plan.stages.size());
  std::size_t stage = 0;
  for (std::size_t n = graph.nodes().size(); n-- > 0;) {
    const nn::Node& node = graph.nodes()[n];
    if (!node.runs_backward) continue;
    // A product has one pass back for its inputs and one for its weights.
    const bool products = node.op->multiply_adds() > 0;
    const double passes =
        products ? Count(node.input_gradients) + (Count(node.param_gradients) > 0 ? 1 : 0) : 1;
    for (double pass = 0; pass < passes; ++pass) {
      work.backward[stage] += PassCost(graph, params, node, batch);
    }
    if (n == plan.stages[stage] && stage + 1 < plan.stages.size()) ++stage;
  }
  return work;
}

}  // namespace shoal::train
