// Pooling: the maximum or average of windows. The output has ceil((H + 2 · pad - kernel) / stride)
// + 1 rows (Caffe's rule; floor if asked), less one where the last window would begin behind the
// image.
#include "kernels/pooling.h"

#include <fmt/format.h>

#include <utility>

#include "nn/ops/ops.h"

namespace shoal::nn {
namespace {

using kernels::PoolShape;

class PoolingOp final : public Op {
 public:
  PoolingOp(const Link& link, const PoolShape& shape, Shape output)
      : shape_(shape),
        max_(std::get<PoolingDef>(link.layers.front()->op).method == PoolingDef::Method::kMax),
        masks_relu_(link.masks_relu) {
    outputs_ = {std::move(output)};
  }

  // The maximum's place is saved as a byte or two; the output says whether a ReLU before it let
  // the gradient through.
  bool reads_output(std::size_t) const override { return masks_relu_; }

  Status Prepare(const OpWants& wants, std::size_t, ConvChooser&) override {
    if (!max_ || !wants.backward) return {};
    buffers_.saved = {(kernels::MaxPoolIndexBytes(shape_) + sizeof(float) - 1) / sizeof(float)};
    return {};
  }

  void Forward(const ForwardArgs& args, Parallel& parallel) override {
    const kernels::ConstRows x = args.inputs[0].rows();
    if (max_) {
      kernels::MaxPool(shape_, x, args.outputs[0].rows(),
                       args.saved.empty() ? nullptr : args.saved[0], parallel);
    } else {
      kernels::AveragePool(shape_, x, args.outputs[0].rows(), parallel);
    }
  }

  void Backward(const BackwardArgs& args, Parallel& parallel) override {
    const kernels::ConstRows dy = args.output_gradients[0].rows();
    const kernels::Rows dx = args.input_gradients[0].rows();
    if (max_) {
      const kernels::ConstRows y =
          masks_relu_ ? kernels::ConstRows(args.outputs[0].rows()) : kernels::ConstRows();
      kernels::MaxPoolBackward(shape_, dy, args.saved[0], y, dx, args.accumulate_inputs[0],
                               parallel);
    } else {
      kernels::AveragePoolBackward(shape_, dy, dx, args.accumulate_inputs[0], parallel);
    }
  }

 private:
  PoolShape shape_;
  bool max_;
  bool masks_relu_;
};

Status Invalid(std::string message) { return Status(Code::kInvalidArgument, std::move(message)); }

Result<std::int64_t> OutputExtent(const PoolingDef& def, std::size_t axis, std::int64_t extent) {
  const std::int64_t kernel = def.kernel[axis];
  const std::int64_t stride = def.stride[axis];
  const std::int64_t pad = def.pad[axis];
  constexpr std::int64_t kMax = 1 << 20;
  if (kernel < 1 || stride < 1 || pad < 0 || kernel > kMax || stride > kMax) {
    return Invalid("kernel and stride must be positive, and pad not negative");
  }
  if (pad >= kernel) return Invalid(fmt::format("pad {} is not less than kernel {}", pad, kernel));
  const std::int64_t room = extent + 2 * pad - kernel;
  if (room < 0) {
    return Invalid(fmt::format("the kernel ({}) is larger than the padded image ({})", kernel,
                               extent + 2 * pad));
  }
  std::int64_t out = (room + (def.ceil ? stride - 1 : 0)) / stride + 1;
  if (pad > 0 && (out - 1) * stride >= extent + pad) --out;
  return out;
}

}  // namespace

OpResult MakePooling(const Link& link, std::span<const Shape> inputs) {
  PoolingDef def = std::get<PoolingDef>(link.layers.front()->op);
  const Shape& input = inputs[0];
  if (input.rank() != 4) {
    return Invalid("pooling needs images (N, C, H, W), not " + ToString(input));
  }
  if (def.global) {
    def.kernel = {input[2], input[3]};
    def.stride = {1, 1};
    def.pad = {0, 0};
  }
  SHOAL_ASSIGN_OR_RETURN(const std::int64_t height, OutputExtent(def, 0, input[2]));
  SHOAL_ASSIGN_OR_RETURN(const std::int64_t width, OutputExtent(def, 1, input[3]));
  if (def.kernel[0] * def.kernel[1] > 65536) return Invalid("windows of more than 65536 pixels");
  const auto size = [](std::int64_t extent) { return static_cast<std::size_t>(extent); };
  const PoolShape shape{.batch = size(input[0]),
                        .height = size(input[2]),
                        .width = size(input[3]),
                        .channels = size(input[1]),
                        .kernel_h = size(def.kernel[0]),
                        .kernel_w = size(def.kernel[1]),
                        .stride_h = size(def.stride[0]),
                        .stride_w = size(def.stride[1]),
                        .pad_h = size(def.pad[0]),
                        .pad_w = size(def.pad[1]),
                        .out_height = size(height),
                        .out_width = size(width)};
  return OpResult(
      std::make_unique<PoolingOp>(link, shape, Shape{input[0], input[1], height, width}));
}

}  // namespace shoal::nn
