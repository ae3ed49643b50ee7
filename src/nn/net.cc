#include "nn/net.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"

namespace shoal::nn {
namespace {

double Sum(const Blob& blob) {
  const kernels::Rows rows = blob.rows();
  double sum = 0;
  for (std::size_t r = 0; r < rows.rows; ++r) {
    for (std::size_t c = 0; c < rows.channels; ++c) sum += rows.row(r)[c];
  }
  return sum;
}

}  // namespace

Result<std::unique_ptr<Net>> Net::Build(const NetDef& def, const NetOptions& options,
                                        ParamStore& params, ConvChooser& chooser,
                                        Parallel& parallel) {
  SHOAL_ASSIGN_OR_RETURN(Graph graph, Graph::Build(def,
                                                   {.input_shapes = options.input_shapes,
                                                    .backward = options.backward,
                                                    .fuse = options.fuse},
                                                   params));
  for (Node& node : graph.nodes()) {
    const OpWants wants{.backward = node.runs_backward,
                        .input_gradients = node.input_gradients,
                        .param_gradients = node.param_gradients};
    SHOAL_RETURN_IF_ERROR(
        node.op->Prepare(wants, parallel.workers(), chooser).Annotate("layer '" + node.name + "'"));
  }
  std::unique_ptr<Net> net(new Net(std::move(graph), params, parallel, options.seed));
  SHOAL_ASSIGN_OR_RETURN(net->plan_, MakePlan(net->graph_, options.bytes_max));
  SHOAL_ASSIGN_OR_RETURN(net->arena_, AlignedBuffer::Make(net->plan_.floats * sizeof(float)));
  return net;
}

Blob Net::MakeBlob(std::size_t value, const Place& place) {
  const Shape& shape = graph_.values()[value].shape;
  if (!place.exists()) return {nullptr, shape, AsImages(shape).channels};
  return {reinterpret_cast<float*>(arena_.data()) + place.offset, shape, place.stride};
}

Blob Net::blob(std::size_t value) { return MakeBlob(value, plan_.values[value]); }

std::optional<Blob> Net::blob(const std::string& name) {
  const std::optional<std::size_t> value = graph_.Find(name);
  if (!value) return std::nullopt;
  return blob(*value);
}

Net::Call Net::MakeCall(std::size_t s) {
  const Node& node = graph_.nodes()[plan_.steps[s].node];
  const StepPlaces& places = plan_.places[s];
  auto* arena = reinterpret_cast<float*>(arena_.data());
  const auto at = [&](const Place& place) {
    return place.exists() ? arena + place.offset : nullptr;
  };
  Call call;
  call.accumulate_inputs = std::make_unique<bool[]>(node.inputs.size());
  call.accumulate_params = std::make_unique<bool[]>(node.params.size());
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    call.inputs.push_back(MakeBlob(node.inputs[i], places.inputs[i]));
    if (places.input_gradients.empty()) continue;
    call.input_gradients.push_back(MakeBlob(node.inputs[i], places.input_gradients[i]));
    call.accumulate_inputs[i] = places.accumulate[i];
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    call.outputs.push_back(MakeBlob(node.outputs[i], places.outputs[i]));
    if (places.output_gradients.empty()) continue;
    call.output_gradients.push_back(MakeBlob(node.outputs[i], places.output_gradients[i]));
  }
  for (std::size_t i = 0; i < node.params.size(); ++i) {
    call.params.push_back(params_.value(node.params[i]).data());
    const bool wanted = plan_.steps[s].kind == StepKind::kBackward && node.param_gradients[i];
    call.param_gradients.push_back(wanted ? params_.gradient(node.params[i]).data() : nullptr);
  }
  for (const Place& place : places.saved) call.saved.push_back(at(place));
  call.workspace = at(places.workspace);
  return call;
}

void Net::MakeCalls() {
  std::set<ParamId> written;
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    calls_.push_back(MakeCall(s));
    if (plan_.steps[s].kind != StepKind::kBackward) continue;
    const std::vector<ParamId>& params = graph_.nodes()[plan_.steps[s].node].params;
    calls_[s].first_use = std::make_unique<bool[]>(params.size());
    for (std::size_t i = 0; i < params.size(); ++i) {
      calls_[s].first_use[i] = written.insert(params[i]).second;
    }
  }
}

void Net::RunForward(std::size_t s) {
  const Step& step = plan_.steps[s];
  const Call& call = calls_[s];
  graph_.nodes()[step.node].op->Forward({.inputs = call.inputs,
                                         .outputs = call.outputs,
                                         .params = call.params,
                                         .saved = call.saved,
                                         .workspace = call.workspace,
                                         .step = step_,
                                         .again = step.kind == StepKind::kAgain},
                                        parallel_);
}

void Net::RunBackward(std::size_t s) {
  const Call& call = calls_[s];
  const Node& node = graph_.nodes()[plan_.steps[s].node];
  node.op->Backward({.inputs = call.inputs,
                     .outputs = call.outputs,
                     .output_gradients = call.output_gradients,
                     .input_gradients = call.input_gradients,
                     .accumulate_inputs = {call.accumulate_inputs.get(), node.inputs.size()},
                     .params = call.params,
                     .param_gradients = call.param_gradients,
                     .accumulate_params = {call.accumulate_params.get(), node.params.size()},
                     .saved = call.saved,
                     .workspace = call.workspace,
                     .step = step_},
                    parallel_);
}

Result<double> Net::Forward(std::uint64_t iteration) {
  if (calls_.empty()) MakeCalls();
  step_ = {.seed = seed_, .iteration = iteration};
  for (std::size_t s = 0; s < plan_.forward_steps; ++s) {
    if (observer_ != nullptr) observer_->OnStepBegin(plan_.steps[s]);
    RunForward(s);
    if (observer_ != nullptr) observer_->OnStepEnd(plan_.steps[s]);
  }
  for (const Node& node : graph_.nodes()) {
    if (Status status = node.op->last_forward(); !status.ok()) {
      return std::move(status).Annotate("layer '" + node.name + "'");
    }
  }
  double loss = 0;
  for (std::size_t v = 0; v < graph_.values().size(); ++v) {
    const float weight = graph_.values()[v].loss_weight;
    if (weight != 0) loss += static_cast<double>(weight) * Sum(blob(v));
  }
  return loss;
}

void Net::FillSeeds(float weight) {
  for (std::size_t v = 0; v < graph_.values().size(); ++v) {
    if (graph_.values()[v].loss_weight == 0 || !plan_.gradients[v].exists()) continue;
    const kernels::Rows rows = MakeBlob(v, plan_.gradients[v]).rows();
    for (std::size_t r = 0; r < rows.rows; ++r) {
      std::fill_n(rows.row(r), rows.channels, weight * graph_.values()[v].loss_weight);
    }
  }
}

void Net::BackwardSteps(std::size_t first, std::size_t end, const BackwardOptions& options) {
  SHOAL_CHECK(!calls_.empty() && first <= end && end <= backward_steps());
  if (first == 0) FillSeeds(options.weight);
  for (std::size_t s = plan_.forward_steps + first; s < plan_.forward_steps + end; ++s) {
    const Step& step = plan_.steps[s];
    if (observer_ != nullptr) observer_->OnStepBegin(step);
    if (step.kind == StepKind::kBackward) {
      const std::size_t params = graph_.nodes()[step.node].params.size();
      for (std::size_t i = 0; i < params; ++i) {
        calls_[s].accumulate_params[i] = options.accumulate || !calls_[s].first_use[i];
      }
      RunBackward(s);
    } else {
      RunForward(s);
    }
    if (observer_ != nullptr) observer_->OnStepEnd(step);
  }
}

}  // namespace shoal::nn
