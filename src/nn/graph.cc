#include "nn/graph.h"

#include <algorithm>
#include <utility>

#include "nn/links.h"
#include "nn/ops/ops.h"

namespace shoal::nn {
namespace {

std::string NameOf(const Link& link) {
  std::string name;
  for (const LayerDef* layer : link.layers) name += (name.empty() ? "" : "+") + layer->name;
  return name;
}

// The shape of the top `index` of a layer that brings data.
Result<Shape> InputShape(const LayerDef& layer, const InputDef& input, std::size_t index,
                         const GraphOptions& options) {
  const auto given = options.input_shapes.find(layer.tops[index]);
  if (given != options.input_shapes.end()) return given->second;
  const std::string context = "layer '" + layer.name + "', top '" + layer.tops[index] + "'";
  if (input.shapes.empty()) {
    return Status(Code::kInvalidArgument, context + ": its shape is not known");
  }
  if (input.shapes.size() != 1 && input.shapes.size() != layer.tops.size()) {
    return Status(Code::kInvalidArgument, context + ": " + std::to_string(input.shapes.size()) +
                                              " shapes for " + std::to_string(layer.tops.size()) +
                                              " tops");
  }
  Result<Shape> shape = Shape::Make(input.shapes[input.shapes.size() == 1 ? 0 : index]);
  if (!shape.ok()) return std::move(shape).status().Annotate(context);
  return shape;
}

float LossWeight(const LayerDef& layer, const Op& op, std::size_t output) {
  if (output < layer.loss_weights.size()) return layer.loss_weights[output];
  return op.is_loss() && output == 0 ? 1 : 0;
}

// Shape inference: goes through the links in order and makes their ops.
class Builder {
 public:
  Builder(const NetDef& net, const GraphOptions& options, ParamStore& params)
      : net_(net), options_(options), params_(params) {}

  Status Run(const Links& links) {
    ids_.resize(links.values.size());
    for (const Link& link : links.links) {
      const LayerDef& layer = *link.layers.front();
      if (const auto* input = std::get_if<InputDef>(&layer.op)) {
        for (std::size_t i = 0; i < link.outputs.size(); ++i) {
          SHOAL_ASSIGN_OR_RETURN(const Shape shape, InputShape(layer, *input, i, options_));
          AddValue(links, link.outputs[i], shape);
        }
      } else {
        SHOAL_RETURN_IF_ERROR(AddNode(links, link).Annotate("layer '" + NameOf(link) + "'"));
      }
    }
    return {};
  }

  std::vector<Value> values;
  std::vector<Node> nodes;

 private:
  Value& AddValue(const Links& links, std::size_t from, const Shape& shape) {
    ids_[from] = values.size();
    values.push_back({.name = links.values[from],
                      .shape = shape,
                      .producer = std::nullopt,
                      .consumers = {},
                      .loss_weight = 0,
                      .has_gradient = false});
    return values.back();
  }

  Status AddNode(const Links& links, const Link& link) {
    Node node{.name = NameOf(link),
              .layers = {},
              .op = nullptr,
              .inputs = {},
              .outputs = {},
              .params = {},
              .runs_backward = false,
              .input_gradients = {},
              .param_gradients = {}};
    std::vector<Shape> shapes;
    for (const std::size_t input : link.inputs) {
      node.inputs.push_back(ids_[input]);
      values[ids_[input]].consumers.push_back(nodes.size());
      shapes.push_back(values[ids_[input]].shape);
    }
    for (const LayerDef* layer : link.layers) node.layers.push_back(layer->name);
    SHOAL_ASSIGN_OR_RETURN(node.op, MakeOp(link, shapes, net_.phase));
    for (std::size_t i = 0; i < link.outputs.size(); ++i) {
      Value& value = AddValue(links, link.outputs[i], node.op->outputs()[i]);
      value.producer = nodes.size();
      value.loss_weight = LossWeight(*link.layers.back(), *node.op, i);
      node.outputs.push_back(ids_[link.outputs[i]]);
    }
    for (const ParamSpec& spec : node.op->params()) {
      SHOAL_ASSIGN_OR_RETURN(const ParamId id, params_.Want(spec));
      node.params.push_back(id);
    }
    const LayerDef& first = *link.layers.front();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      node.input_gradients.push_back(node.op->differentiable(i) &&
                                     (i >= first.propagate_down.size() || first.propagate_down[i]));
    }
    for (const ParamId id : node.params) node.param_gradients.push_back(params_[id].learnable());
    nodes.push_back(std::move(node));
    return {};
  }

  const NetDef& net_;
  const GraphOptions& options_;
  ParamStore& params_;
  std::vector<std::size_t> ids_;  // From values of the links to ours.
};

bool Any(const std::vector<bool>& flags) {
  return std::find(flags.begin(), flags.end(), true) != flags.end();
}

}  // namespace

Result<Graph> Graph::Build(const NetDef& net, const GraphOptions& options, ParamStore& params) {
  SHOAL_ASSIGN_OR_RETURN(Links links, LinkLayers(net));
  if (options.fuse) Fuse(links);
  Builder builder(net, options, params);
  SHOAL_RETURN_IF_ERROR(builder.Run(links));
  Graph graph;
  graph.values_ = std::move(builder.values);
  graph.nodes_ = std::move(builder.nodes);
  if (options.backward) {
    graph.FindGradients(net);
  } else {
    for (Node& node : graph.nodes_) {
      std::fill(node.input_gradients.begin(), node.input_gradients.end(), false);
      std::fill(node.param_gradients.begin(), node.param_gradients.end(), false);
    }
  }
  return graph;
}

// A value has a gradient if somebody wants it, below, and if it counts in the loss, above.
void Graph::FindGradients(const NetDef& net) {
  std::vector<bool> wanted(values_.size(), false);
  std::vector<bool> counts(values_.size(), false);
  for (std::size_t v = 0; v < values_.size(); ++v) {
    wanted[v] = !values_[v].producer && net.force_backward;
    counts[v] = values_[v].loss_weight != 0;
  }
  for (const Node& node : nodes_) {
    bool any = Any(node.param_gradients);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      any |= node.input_gradients[i] && wanted[node.inputs[i]];
    }
    for (const std::size_t output : node.outputs) wanted[output] = any;
  }
  for (std::size_t n = nodes_.size(); n-- > 0;) {
    Node& node = nodes_[n];
    const bool any = std::any_of(node.outputs.begin(), node.outputs.end(),
                                 [&](std::size_t output) { return counts[output]; });
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (any && node.input_gradients[i]) counts[node.inputs[i]] = true;
      node.input_gradients[i] = any && node.input_gradients[i] && wanted[node.inputs[i]];
    }
    if (!any) std::fill(node.param_gradients.begin(), node.param_gradients.end(), false);
    node.runs_backward = Any(node.input_gradients) || Any(node.param_gradients);
  }
  for (std::size_t v = 0; v < values_.size(); ++v) values_[v].has_gradient = wanted[v] && counts[v];
}

std::vector<std::size_t> Graph::inputs() const {
  std::vector<std::size_t> found;
  for (std::size_t v = 0; v < values_.size(); ++v) {
    if (!values_[v].producer) found.push_back(v);
  }
  return found;
}

std::vector<std::size_t> Graph::results() const {
  std::vector<std::size_t> found;
  for (std::size_t v = 0; v < values_.size(); ++v) {
    if (values_[v].consumers.empty()) found.push_back(v);
  }
  return found;
}

std::optional<std::size_t> Graph::Find(const std::string& name) const {
  for (std::size_t v = values_.size(); v-- > 0;) {
    if (values_[v].name == name) return v;
  }
  return std::nullopt;
}

}  // namespace shoal::nn
