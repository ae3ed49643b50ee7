// Convolution and InnerProduct, with bias and a fused ReLU. An inner product is a convolution of
// images of one pixel: its weights are kept in the order of the input's memory, so that the input
// is flattened without moving anything.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "kernels/activation.h"
#include "nn/ops/ops.h"

namespace shoal::nn {
namespace {

using kernels::ConvShape;

// Weights larger than this cannot be meant; AlexNet's largest has 38 million.
constexpr std::int64_t kWeightsMax = std::int64_t{1} << 31;

class ConvolutionOp final : public Op {
 public:
  ConvolutionOp(const Link& link, const ConvShape& shape, bool bias, Shape output)
      : shape_(shape),
        bias_(bias),
        relu_(link.relu),
        masks_(link.relu && !link.relu_masked_by_pooling) {
    outputs_ = {std::move(output)};
  }

  void AddParam(ParamSpec spec) { params_.push_back(std::move(spec)); }

  // The weights' gradient needs the input, the ReLU's the output.
  bool reads_input(std::size_t) const override { return wants_.param_gradients[0]; }
  bool reads_output(std::size_t) const override { return masks_; }
  double multiply_adds() const override { return shape_.multiply_adds(); }

  Status Prepare(const OpWants& wants, std::size_t workers, ConvChooser& chooser) override {
    const kernels::ConvOptions options{.workers = workers};
    wants_ = wants;
    const kernels::ConvImplementation& row = chooser.Choose(shape_, ConvDirection::kForward);
    forward_ = row.forward(shape_, options);
    buffers_.forward_workspace = forward_->workspace_floats();
    implementations_ = row.name;
    if (wants.input_gradients[0]) {
      const auto& data_row = chooser.Choose(shape_, ConvDirection::kBackwardData);
      data_ = data_row.backward_data(shape_, options);
      buffers_.backward_workspace = data_->workspace_floats();
      implementations_ += ", " + std::string(data_row.name);
    }
    if (wants.param_gradients[0]) {
      const auto& weights_row = chooser.Choose(shape_, ConvDirection::kBackwardWeights);
      weights_ = weights_row.backward_weights(shape_, options);
      buffers_.backward_workspace =
          std::max(buffers_.backward_workspace, weights_->workspace_floats());
      implementations_ += ", " + std::string(weights_row.name);
    }
    return {};
  }

  std::string implementations() const override { return implementations_; }

  void Forward(const ForwardArgs& args, Parallel& parallel) override {
    forward_->Run({.x = args.inputs[0].data,
                   .x_stride = shape_.channels,
                   .w = args.params[0],
                   .bias = bias_ ? args.params[1] : nullptr,
                   .relu = relu_,
                   .y = args.outputs[0].data,
                   .y_stride = args.outputs[0].stride},
                  args.workspace, parallel);
  }

  void Backward(const BackwardArgs& args, Parallel& parallel) override {
    const Blob& dy = args.output_gradients[0];
    if (masks_) {
      kernels::ReluRowsBackward({}, args.outputs[0].rows(), dy.rows(), dy.rows(), false, parallel);
    }
    if (weights_ != nullptr) {
      weights_->Run({.x = args.inputs[0].data,
                     .x_stride = shape_.channels,
                     .dy = dy.data,
                     .dy_stride = dy.stride,
                     .dw = args.param_gradients[0],
                     .dbias = bias_ ? args.param_gradients[1] : nullptr,
                     .accumulate = args.accumulate_params[0]},
                    args.workspace, parallel);
    }
    if (data_ != nullptr) {
      data_->Run({.dy = dy.data,
                  .dy_stride = dy.stride,
                  .w = args.params[0],
                  .dx = args.input_gradients[0].data,
                  .dx_stride = shape_.channels,
                  .accumulate = args.accumulate_inputs[0]},
                 args.workspace, parallel);
    }
  }

 private:
  ConvShape shape_;
  bool bias_;
  bool relu_;
  bool masks_;  // Whether the ReLU's gradient is ours to apply.
  OpWants wants_;
  std::unique_ptr<kernels::ConvForward> forward_;
  std::unique_ptr<kernels::ConvBackwardData> data_;
  std::unique_ptr<kernels::ConvBackwardWeights> weights_;
  std::string implementations_;
};

Status Invalid(std::string message) { return Status(Code::kInvalidArgument, std::move(message)); }

ParamDef ParamDefOf(const LayerDef& layer, std::size_t index) {
  return index < layer.params.size() ? layer.params[index] : ParamDef{};
}

// Adds weights, and bias if there is one.
void AddParams(ConvolutionOp& op, const LayerDef& layer, ParamLayout weights, const Filler& filler,
               std::int64_t outputs, const Filler* bias_filler) {
  op.AddParam({.layer = layer.name,
               .index = 0,
               .layout = std::move(weights),
               .filler = filler,
               .def = ParamDefOf(layer, 0)});
  if (bias_filler == nullptr) return;
  op.AddParam({.layer = layer.name,
               .index = 1,
               .layout = ParamLayout::Plain({outputs}),
               .filler = *bias_filler,
               .def = ParamDefOf(layer, 1)});
}

Status CheckConvolution(const ConvolutionDef& def, const Shape& input) {
  if (input.rank() != 4) {
    return Invalid("a convolution needs images (N, C, H, W), not " + ToString(input));
  }
  if (def.outputs < 1) return Invalid("num_output must be positive");
  if (def.groups < 1 || input[1] % def.groups != 0 || def.outputs % def.groups != 0) {
    return Invalid(fmt::format("group {} does not divide {} channels and {} outputs", def.groups,
                               input[1], def.outputs));
  }
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t kernel = def.kernel[axis];
    const std::int64_t extent = input[2 + axis];
    if (kernel < 1 || def.stride[axis] < 1 || def.dilation[axis] < 1 || def.pad[axis] < 0) {
      return Invalid("kernel, stride and dilation must be positive, and pad not negative");
    }
    constexpr std::int64_t kMax = 1 << 20;
    if (kernel > kMax || def.stride[axis] > kMax || def.dilation[axis] > kMax ||
        def.pad[axis] > kMax) {
      return Invalid("kernel, stride, dilation or pad is absurdly large");
    }
    if (def.dilation[axis] * (kernel - 1) + 1 > extent + 2 * def.pad[axis]) {
      return Invalid(fmt::format("the kernel ({}) is larger than the padded image ({})",
                                 def.dilation[axis] * (kernel - 1) + 1,
                                 extent + 2 * def.pad[axis]));
    }
  }
  const double weights = static_cast<double>(def.outputs) * static_cast<double>(input[1]) *
                         static_cast<double>(def.kernel[0]) * static_cast<double>(def.kernel[1]);
  if (weights > static_cast<double>(kWeightsMax)) return Invalid("absurdly many weights");
  return {};
}

}  // namespace

OpResult MakeConvolution(const Link& link, std::span<const Shape> inputs) {
  const LayerDef& layer = *link.layers.front();
  const auto& def = std::get<ConvolutionDef>(layer.op);
  const Shape& input = inputs[0];
  SHOAL_RETURN_IF_ERROR(CheckConvolution(def, input));
  const auto size = [](std::int64_t extent) { return static_cast<std::size_t>(extent); };
  const ConvShape shape{.batch = size(input[0]),
                        .height = size(input[2]),
                        .width = size(input[3]),
                        .channels = size(input[1]),
                        .outputs = size(def.outputs),
                        .kernel_h = size(def.kernel[0]),
                        .kernel_w = size(def.kernel[1]),
                        .stride_h = size(def.stride[0]),
                        .stride_w = size(def.stride[1]),
                        .pad_h = size(def.pad[0]),
                        .pad_w = size(def.pad[1]),
                        .dilation_h = size(def.dilation[0]),
                        .dilation_w = size(def.dilation[1]),
                        .groups = size(def.groups)};
  const std::int64_t extents[] = {input[0], def.outputs,
                                  static_cast<std::int64_t>(shape.out_height()),
                                  static_cast<std::int64_t>(shape.out_width())};
  SHOAL_ASSIGN_OR_RETURN(const Shape output, Shape::Make(extents));
  auto op = std::make_unique<ConvolutionOp>(link, shape, def.bias, output);
  AddParams(
      *op, layer,
      ParamLayout::Convolution({def.outputs, input[1] / def.groups, def.kernel[0], def.kernel[1]}),
      def.weight_filler, def.outputs, def.bias ? &def.bias_filler : nullptr);
  return OpResult(std::move(op));
}

OpResult MakeInnerProduct(const Link& link, std::span<const Shape> inputs) {
  const LayerDef& layer = *link.layers.front();
  const auto& def = std::get<InnerProductDef>(layer.op);
  const Shape& input = inputs[0];
  const auto rank = static_cast<std::int64_t>(input.rank());
  const std::int64_t axis = def.axis < 0 ? def.axis + rank : def.axis;
  if (axis < 0 || axis > rank || (rank == 4 && axis != 1)) {
    return Invalid(fmt::format("axis {} of {} is not supported", def.axis, ToString(input)));
  }
  if (def.outputs < 1) return Invalid("num_output must be positive");
  std::vector<std::int64_t> extents;
  std::int64_t rows = 1;
  for (std::int64_t i = 0; i < axis; ++i) {
    extents.push_back(input[static_cast<std::size_t>(i)]);
    rows *= extents.back();
  }
  extents.push_back(def.outputs);
  SHOAL_ASSIGN_OR_RETURN(const Shape output, Shape::Make(extents));
  const std::int64_t columns = rows == 0 ? 0 : input.elements() / rows;
  if (columns == 0) return Invalid("its input is empty");
  if (def.outputs > kWeightsMax / columns) return Invalid("absurdly many weights");
  const ConvShape shape{.batch = static_cast<std::size_t>(rows),
                        .height = 1,
                        .width = 1,
                        .channels = static_cast<std::size_t>(columns),
                        .outputs = static_cast<std::size_t>(def.outputs)};
  const std::size_t channels = rank == 4 ? static_cast<std::size_t>(input[1]) : shape.channels;
  auto op = std::make_unique<ConvolutionOp>(link, shape, def.bias, output);
  AddParams(
      *op, layer,
      ParamLayout::InnerProduct(shape.outputs, channels, shape.channels / channels, def.transpose),
      def.weight_filler, def.outputs, def.bias ? &def.bias_filler : nullptr);
  return OpResult(std::move(op));
}

}  // namespace shoal::nn
