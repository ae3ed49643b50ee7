// ReLU (leaky, capped), Sigmoid and TanH. Their gradients follow from the output, so they work in
// place.
#include "kernels/activation.h"

#include "nn/ops/ops.h"

namespace shoal::nn {
namespace {

class ActivationOp : public Op {
 public:
  explicit ActivationOp(const Shape& shape) { outputs_ = {shape}; }
  bool reads_output(std::size_t) const override { return true; }
  bool in_place() const override { return true; }
  std::optional<std::size_t> gradient_in_place() const override { return 0; }
};

class ReluOp final : public ActivationOp {
 public:
  ReluOp(const Shape& shape, const kernels::ReluParams& params)
      : ActivationOp(shape), params_(params) {}
  void Forward(const ForwardArgs& args, Parallel& parallel) override {
    kernels::ReluRows(params_, args.inputs[0].rows(), args.outputs[0].rows(), parallel);
  }
  void Backward(const BackwardArgs& args, Parallel& parallel) override {
    kernels::ReluRowsBackward(params_, args.outputs[0].rows(), args.output_gradients[0].rows(),
                              args.input_gradients[0].rows(), args.accumulate_inputs[0], parallel);
  }

 private:
  kernels::ReluParams params_;
};

class SigmoidOp final : public ActivationOp {
 public:
  using ActivationOp::ActivationOp;
  void Forward(const ForwardArgs& args, Parallel& parallel) override {
    kernels::SigmoidRows(args.inputs[0].rows(), args.outputs[0].rows(), parallel);
  }
  void Backward(const BackwardArgs& args, Parallel& parallel) override {
    kernels::SigmoidRowsBackward(args.outputs[0].rows(), args.output_gradients[0].rows(),
                                 args.input_gradients[0].rows(), args.accumulate_inputs[0],
                                 parallel);
  }
};

class TanhOp final : public ActivationOp {
 public:
  using ActivationOp::ActivationOp;
  void Forward(const ForwardArgs& args, Parallel& parallel) override {
    kernels::TanhRows(args.inputs[0].rows(), args.outputs[0].rows(), parallel);
  }
  void Backward(const BackwardArgs& args, Parallel& parallel) override {
    kernels::TanhRowsBackward(args.outputs[0].rows(), args.output_gradients[0].rows(),
                              args.input_gradients[0].rows(), args.accumulate_inputs[0], parallel);
  }
};

}  // namespace

OpResult MakeRelu(const Link& link, std::span<const Shape> inputs) {
  const auto& def = std::get<ReluDef>(link.layers.front()->op);
  kernels::ReluParams params{.slope = def.negative_slope};
  if (def.max.has_value()) params.max = *def.max;
  if (!(params.slope >= 0) || !(params.max > 0)) {
    return Status(Code::kInvalidArgument,
                  "a ReLU's negative_slope must not be negative, and its maximum must be positive");
  }
  return OpResult(std::make_unique<ReluOp>(inputs[0], params));
}

OpResult MakeSigmoid(const Link&, std::span<const Shape> inputs) {
  return OpResult(std::make_unique<SigmoidOp>(inputs[0]));
}

OpResult MakeTanh(const Link&, std::span<const Shape> inputs) {
  return OpResult(std::make_unique<TanhOp>(inputs[0]));
}

}  // namespace shoal::nn
