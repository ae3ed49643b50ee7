#include "nn/views.h"

namespace shoal::nn {
namespace {

bool MayBeView(const Graph& graph, const Value& value) {
  return value.consumers.size() == 1 && value.producer.has_value() && value.loss_weight == 0 &&
         graph.nodes()[*value.producer].op->strided_outputs();
}

}  // namespace

std::vector<View> FindViews(const Graph& graph) {
  std::vector<View> views(graph.values().size());
  for (std::size_t v = 0; v < views.size(); ++v) views[v].root = v;
  // From the back, so that a Concat of Concats is one blob.
  for (std::size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    if (!node.op->concatenates()) continue;
    View at = views[node.outputs[0]];
    for (const std::size_t input : node.inputs) {
      const Value& value = graph.values()[input];
      if (MayBeView(graph, value)) views[input] = at;
      at.channel += AsImages(value.shape).channels;
    }
  }
  return views;
}

}  // namespace shoal::nn
