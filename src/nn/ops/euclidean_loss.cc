// EuclideanLoss: half the mean over images of the squared distance of its two inputs.
#include "kernels/euclidean_loss.h"

#include "nn/ops/ops.h"

namespace shoal::nn {
namespace {

class EuclideanLossOp final : public Op {
 public:
  explicit EuclideanLossOp(const Shape& shape)
      : images_(shape.rank() == 0 ? 1 : static_cast<double>(shape[0])) {
    outputs_ = {Shape()};
  }

  bool is_loss() const override { return true; }
  bool reads_input(std::size_t) const override { return true; }

  void Forward(const ForwardArgs& args, Parallel& parallel) override {
    const double distance =
        kernels::SquaredDistance(args.inputs[0].rows(), args.inputs[1].rows(), parallel);
    args.outputs[0].data[0] = static_cast<float>(distance / images_ / 2);
  }

  void Backward(const BackwardArgs& args, Parallel& parallel) override {
    const auto scale = static_cast<float>(args.output_gradients[0].data[0] / images_);
    for (std::size_t i = 0; i < 2; ++i) {
      if (args.input_gradients[i].data == nullptr) continue;
      kernels::ScaledDifference(i == 0 ? scale : -scale, args.inputs[0].rows(),
                                args.inputs[1].rows(), args.input_gradients[i].rows(),
                                args.accumulate_inputs[i], parallel);
    }
  }

 private:
  double images_;
};

}  // namespace

OpResult MakeEuclideanLoss(const Link&, std::span<const Shape> inputs) {
  if (inputs[0].elements() != inputs[1].elements() || inputs[0].rank() != inputs[1].rank()) {
    return Status(Code::kInvalidArgument,
                  "its inputs differ: " + ToString(inputs[0]) + " and " + ToString(inputs[1]));
  }
  if (inputs[0].elements() == 0) return Status(Code::kInvalidArgument, "its inputs are empty");
  return OpResult(std::make_unique<EuclideanLossOp>(inputs[0]));
}

}  // namespace shoal::nn
