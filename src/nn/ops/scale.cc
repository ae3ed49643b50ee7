// Scale and Bias: a factor and an offset for each channel, as parameters or from a second input.
#include <utility>

#include "kernels/row_ops.h"
#include "nn/ops/axis.h"
#include "nn/ops/ops.h"
#include "nn/ops/scale_from.h"

namespace shoal::nn {
namespace {

// y = x · factor + offset. Either may be missing; either may come from a second input.
class ScaleOp final : public Op {
 public:
  using From = ScaleFrom;

  ScaleOp(const Shape& shape, From factor, From offset)
      : factor_(factor), offset_(offset), channels_(AsImages(shape).channels) {
    outputs_ = {shape};
  }

  void AddParam(ParamSpec spec) { params_.push_back(std::move(spec)); }

  bool reads_input(std::size_t input) const override {
    return input == 1 ? factor_ == From::kInput : factor_gradient_;
  }
  bool in_place() const override { return true; }
  std::optional<std::size_t> gradient_in_place() const override { return 0; }
  bool cheap() const override { return true; }

  Status Prepare(const OpWants& wants, std::size_t, ConvChooser&) override {
    const auto wants_param = [&](std::size_t i) {
      return i < wants.param_gradients.size() && wants.param_gradients[i];
    };
    const bool second = wants.input_gradients.size() > 1 && wants.input_gradients[1];
    factor_gradient_ =
        factor_ == From::kParam ? wants_param(0) : (factor_ == From::kInput && second);
    const std::size_t rows = AsImages(outputs_[0]).pixels();
    // Both sums, where only one may be wanted.
    buffers_.backward_workspace =
        kernels::ColumnSumsScratchFloats(rows, channels_) * 2 + 2 * channels_;
    return {};
  }

  void Forward(const ForwardArgs& args, Parallel& parallel) override {
    kernels::ScaleChannels(args.inputs[0].rows(), Find(factor_, args, 0),
                           Find(offset_, args, offset_param()), args.outputs[0].rows(), false,
                           parallel);
  }

  void Backward(const BackwardArgs& args, Parallel& parallel) override {
    const kernels::Rows dy = args.output_gradients[0].rows();
    const std::span<float> sums(args.workspace, 2 * channels_);
    const std::span<float> scratch(args.workspace + 2 * channels_,
                                   buffers_.backward_workspace - 2 * channels_);
    const Target dfactor = GradientOf(factor_, args, 0);
    const Target doffset = GradientOf(offset_, args, offset_param());
    if (dfactor.data != nullptr) {
      kernels::ScaleChannelsBackward(args.inputs[0].rows(), dy, sums.first(channels_),
                                     sums.last(channels_), false, scratch, parallel);
      Add(sums.first(channels_), dfactor);
      if (doffset.data != nullptr) Add(sums.last(channels_), doffset);
    } else if (doffset.data != nullptr) {
      kernels::ColumnSums(dy, {doffset.data, channels_}, doffset.accumulate, scratch, parallel);
    }
    const Blob& dx = args.input_gradients[0];
    if (dx.data == nullptr) return;
    if (factor_ == From::kNone && dx.data == dy.data) return;
    kernels::ScaleChannels(dy, Find(factor_, args, 0), {}, dx.rows(), args.accumulate_inputs[0],
                           parallel);
  }

 private:
  struct Target {
    float* data = nullptr;
    bool accumulate = false;
  };

  // The offset is the second parameter if the factor is the first.
  std::size_t offset_param() const { return factor_ == From::kParam ? 1 : 0; }

  template <class Args>
  std::span<const float> Find(From from, const Args& args, std::size_t param) const {
    if (from == From::kNone) return {};
    if (from == From::kInput) return {args.inputs[1].data, channels_};
    return {args.params[param], channels_};
  }

  Target GradientOf(From from, const BackwardArgs& args, std::size_t param) const {
    if (from == From::kParam) return {args.param_gradients[param], args.accumulate_params[param]};
    if (from == From::kInput) return {args.input_gradients[1].data, args.accumulate_inputs[1]};
    return {};
  }

  void Add(std::span<const float> sums, const Target& to) const {
    for (std::size_t c = 0; c < channels_; ++c) {
      to.data[c] = to.accumulate ? to.data[c] + sums[c] : sums[c];
    }
  }

  From factor_;
  From offset_;
  std::size_t channels_;
  bool factor_gradient_ = false;
};

// Whether the numbers belong to the channels alone.
bool PerChannel(const BroadcastDef& def, std::span<const Shape> inputs) {
  const Result<std::size_t> axis = ResolveAxis(def.axis, inputs[0]);
  if (!axis.ok() || *axis != ChannelAxis(inputs[0])) return false;
  if (inputs.size() > 1) {
    return inputs[1].rank() == 1 && inputs[1][0] == inputs[0][*axis];
  }
  return def.num_axes == 1 || (def.num_axes == -1 && inputs[0].rank() != 4);
}

OpResult MakeEither(const Link& link, std::span<const Shape> inputs, const BroadcastDef& def) {
  if (!PerChannel(def, inputs)) return MakeBroadcast(link, inputs, def);
  const LayerDef& layer = *link.layers.front();
  auto op = std::make_unique<ScaleOp>(inputs[0], def.factor, def.offset);
  const auto add = [&](const Filler& filler) {
    const std::size_t index = op->params().size();
    const auto channels = static_cast<std::int64_t>(AsImages(inputs[0]).channels);
    op->AddParam({.layer = layer.name,
                  .index = index,
                  .layout = ParamLayout::Plain({channels}),
                  .filler = filler,
                  .def = index < layer.params.size() ? layer.params[index] : ParamDef{}});
  };
  if (def.factor == ScaleFrom::kParam) add(def.factor_filler);
  if (def.offset == ScaleFrom::kParam) add(def.offset_filler);
  return OpResult(std::move(op));
}

}  // namespace

OpResult MakeScale(const Link& link, std::span<const Shape> inputs) {
  const auto& def = std::get<ScaleDef>(link.layers.front()->op);
  return MakeEither(link, inputs,
                    {.axis = def.axis,
                     .num_axes = def.num_axes,
                     .factor = inputs.size() > 1 ? ScaleFrom::kInput : ScaleFrom::kParam,
                     .offset = def.bias ? ScaleFrom::kParam : ScaleFrom::kNone,
                     .factor_filler = def.filler,
                     .offset_filler = def.bias_filler});
}

OpResult MakeBias(const Link& link, std::span<const Shape> inputs) {
  const auto& def = std::get<BiasDef>(link.layers.front()->op);
  return MakeEither(link, inputs,
                    {.axis = def.axis,
                     .num_axes = def.num_axes,
                     .factor = ScaleFrom::kNone,
                     .offset = inputs.size() > 1 ? ScaleFrom::kInput : ScaleFrom::kParam,
                     .offset_filler = def.filler});
}

}  // namespace shoal::nn
