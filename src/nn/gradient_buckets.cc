#include "nn/gradient_buckets.h"

#include <algorithm>
#include <optional>

#include "base/check.h"

namespace shoal::nn {
namespace {

struct Finished {
  ParamId param;
  std::size_t node;  // The last whose backward adds to the gradient.
};

// Backward runs nodes from the last to the first, so the first node in the order of the graph that
// uses a parameter is the one that finishes it.
std::vector<Finished> InOrderOfBackward(const Graph& graph, const ParamStore& params) {
  std::vector<std::optional<std::size_t>> finisher(params.size());
  for (std::size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    if (!node.runs_backward) continue;
    for (std::size_t i = 0; i < node.params.size(); ++i) {
      if (node.param_gradients[i]) finisher[static_cast<std::size_t>(node.params[i])] = n;
    }
  }
  std::vector<Finished> found;
  for (std::size_t p = 0; p < finisher.size(); ++p) {
    if (finisher[p] && params[ParamId{p}].learnable()) found.push_back({ParamId{p}, *finisher[p]});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Finished& a, const Finished& b) { return a.node > b.node; });
  return found;
}

}  // namespace

GradientPlan PlanGradients(const Graph& graph, const ParamStore& params, std::size_t bytes) {
  const std::vector<Finished> finished = InOrderOfBackward(graph, params);
  GradientPlan plan;
  std::vector<std::size_t> ends;  // Of each parameter.
  for (const Finished& f : finished) {
    plan.order.push_back(f.param);
    ends.push_back((ends.empty() ? 0 : ends.back()) + params[f.param].floats());
  }
  if (ends.empty()) return plan;
  const std::size_t granules = std::max<std::size_t>(bytes / (kParamGranule * sizeof(float)), 1);
  const std::size_t size = granules * kParamGranule;
  std::size_t last = 0;  // The parameter in which the bucket ends.
  for (std::size_t begin = 0; begin < ends.back(); begin += size) {
    const std::size_t end = std::min(begin + size, ends.back());
    while (ends[last] < end) ++last;
    if (plan.stages.empty() || plan.stages.back() != finished[last].node) {
      plan.stages.push_back(finished[last].node);
    }
    plan.buckets.push_back({.begin = begin, .end = end, .stage = plan.stages.size() - 1});
  }
  return plan;
}

std::vector<std::size_t> StepsOfStages(const GradientPlan& gradients, const Plan& plan) {
  std::vector<std::size_t> steps;
  for (std::size_t s = plan.forward_steps; s < plan.steps.size(); ++s) {
    if (steps.size() == gradients.stages.size()) break;
    if (plan.steps[s].kind != StepKind::kBackward) continue;
    if (plan.steps[s].node != gradients.stages[steps.size()]) continue;
    steps.push_back(s + 1 - plan.forward_steps);
  }
  SHOAL_CHECK_EQ(steps.size(), gradients.stages.size());
  if (!steps.empty()) steps.back() = plan.steps.size() - plan.forward_steps;
  return steps;
}

}  // namespace shoal::nn
