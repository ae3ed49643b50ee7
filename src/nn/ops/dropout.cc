// Dropout while training: what is kept is scaled up, so that a test does nothing. The mask is a
// function of (seed, layer, iteration, element) and is made again for the gradient.
#include "kernels/dropout.h"

#include "base/hash.h"
#include "nn/ops/ops.h"

namespace shoal::nn {
namespace {

class DropoutOp final : public Op {
 public:
  DropoutOp(const Shape& shape, float ratio, const std::string& layer)
      : ratio_(ratio), layer_hash_(HashOf(layer)) {
    outputs_ = {shape};
  }

  bool in_place() const override { return true; }
  std::optional<std::size_t> gradient_in_place() const override { return 0; }
  bool cheap() const override { return true; }

  void Forward(const ForwardArgs& args, Parallel& parallel) override {
    kernels::Dropout(MaskOf(args.step), args.inputs[0].rows(), args.outputs[0].rows(), false,
                     parallel);
  }

  void Backward(const BackwardArgs& args, Parallel& parallel) override {
    kernels::Dropout(MaskOf(args.step), args.output_gradients[0].rows(),
                     args.input_gradients[0].rows(), args.accumulate_inputs[0], parallel);
  }

 private:
  static std::uint64_t HashOf(const std::string& layer) {
    Fingerprint fingerprint;
    for (const char c : layer) fingerprint.Add(static_cast<unsigned char>(c));
    return fingerprint.value();
  }

  kernels::DropoutMask MaskOf(const OpStep& step) const {
    return {.ratio = ratio_, .seed = step.seed ^ layer_hash_, .iteration = step.iteration};
  }

  float ratio_;
  std::uint64_t layer_hash_;
};

}  // namespace

OpResult MakeDropout(const Link& link, std::span<const Shape> inputs) {
  const LayerDef& layer = *link.layers.front();
  const float ratio = std::get<DropoutDef>(layer.op).ratio;
  if (!(ratio >= 0 && ratio < 1)) {
    return Status(Code::kInvalidArgument, "dropout_ratio must be at least 0 and less than 1");
  }
  return OpResult(std::make_unique<DropoutOp>(inputs[0], ratio, layer.name));
}

}  // namespace shoal::nn
