// LRN: each number divided by a power of the sum of squares around it, over neighbouring channels
// or over neighbouring pixels.
#include "kernels/lrn.h"

#include "nn/ops/ops.h"

namespace shoal::nn {
namespace {

class LrnOp final : public Op {
 public:
  LrnOp(const Shape& shape, const kernels::LrnParams& params, bool across)
      : params_(params), across_(across), images_(AsImages(shape)) {
    outputs_ = {shape};
  }

  bool reads_input(std::size_t) const override { return true; }
  bool cheap() const override { return across_; }

  Status Prepare(const OpWants&, std::size_t, ConvChooser&) override {
    if (across_) return {};
    buffers_.forward_workspace = kernels::LrnWithinChannelScratchFloats(images(), images_.channels);
    buffers_.backward_workspace = buffers_.forward_workspace;
    return {};
  }

  void Forward(const ForwardArgs& args, Parallel& parallel) override {
    const kernels::ConstRows x = args.inputs[0].rows();
    if (across_) {
      kernels::LrnAcrossChannels(params_, x, args.outputs[0].rows(), parallel);
    } else {
      kernels::LrnWithinChannel(params_, images(), x, args.outputs[0].rows(),
                                {args.workspace, buffers_.forward_workspace}, parallel);
    }
  }

  void Backward(const BackwardArgs& args, Parallel& parallel) override {
    const kernels::ConstRows x = args.inputs[0].rows();
    const kernels::ConstRows dy = args.output_gradients[0].rows();
    const kernels::Rows dx = args.input_gradients[0].rows();
    if (across_) {
      kernels::LrnAcrossChannelsBackward(params_, x, dy, dx, args.accumulate_inputs[0], parallel);
    } else {
      kernels::LrnWithinChannelBackward(params_, images(), x, dy, dx, args.accumulate_inputs[0],
                                        {args.workspace, buffers_.backward_workspace}, parallel);
    }
  }

 private:
  kernels::LrnImages images() const { return {images_.batch, images_.height, images_.width}; }

  kernels::LrnParams params_;
  bool across_;
  ImageShape images_;
};

}  // namespace

OpResult MakeLrn(const Link& link, std::span<const Shape> inputs) {
  const auto& def = std::get<LrnDef>(link.layers.front()->op);
  const Shape& input = inputs[0];
  if (input.rank() != 4) {
    return Status(Code::kInvalidArgument, "LRN needs images (N, C, H, W), not " + ToString(input));
  }
  if (def.size < 1 || def.size % 2 == 0 ||
      def.size > static_cast<std::int64_t>(kernels::kLrnSizeMax)) {
    return Status(Code::kInvalidArgument,
                  "local_size must be odd and at most " + std::to_string(kernels::kLrnSizeMax));
  }
  const kernels::LrnParams params{
      .size = static_cast<std::size_t>(def.size), .alpha = def.alpha, .beta = def.beta, .k = def.k};
  return OpResult(
      std::make_unique<LrnOp>(input, params, def.region == LrnDef::Region::kAcrossChannels));
}

}  // namespace shoal::nn
