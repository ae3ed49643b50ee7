#include "base/check.h"
#include "nn/ops/ops.h"

namespace shoal::nn {
namespace {

struct Maker {
  const Link& link;
  std::span<const Shape> inputs;
  Phase phase;

  OpResult operator()(const ConvolutionDef&) const { return MakeConvolution(link, inputs); }
  OpResult operator()(const InnerProductDef&) const { return MakeInnerProduct(link, inputs); }
  OpResult operator()(const PoolingDef&) const { return MakePooling(link, inputs); }
  OpResult operator()(const LrnDef&) const { return MakeLrn(link, inputs); }
  OpResult operator()(const BatchNormDef&) const { return MakeBatchNorm(link, inputs, phase); }
  OpResult operator()(const ScaleDef&) const { return MakeScale(link, inputs); }
  OpResult operator()(const BiasDef&) const { return MakeBias(link, inputs); }
  OpResult operator()(const ReluDef&) const { return MakeRelu(link, inputs); }
  OpResult operator()(const SigmoidDef&) const { return MakeSigmoid(link, inputs); }
  OpResult operator()(const TanhDef&) const { return MakeTanh(link, inputs); }
  OpResult operator()(const DropoutDef&) const { return MakeDropout(link, inputs); }
  OpResult operator()(const ConcatDef&) const { return MakeConcat(link, inputs); }
  OpResult operator()(const EltwiseDef&) const { return MakeEltwise(link, inputs); }
  OpResult operator()(const SliceDef&) const { return MakeSlice(link, inputs); }
  OpResult operator()(const ReshapeDef&) const { return MakeReshape(link, inputs); }
  OpResult operator()(const FlattenDef&) const { return MakeFlatten(link, inputs); }
  OpResult operator()(const SoftmaxDef&) const { return MakeSoftmax(link, inputs); }
  OpResult operator()(const SoftmaxLossDef&) const { return MakeSoftmaxLoss(link, inputs); }
  OpResult operator()(const EuclideanLossDef&) const { return MakeEuclideanLoss(link, inputs); }
  OpResult operator()(const AccuracyDef&) const { return MakeAccuracy(link, inputs); }
  // Handled before ops are made.
  OpResult operator()(const InputDef&) const { return Never(); }
  OpResult operator()(const SplitDef&) const { return Never(); }
  OpResult operator()(const SilenceDef&) const { return Never(); }

  static OpResult Never() {
    SHOAL_CHECK(false);
    return Status(Code::kInvalidArgument, "not an op");
  }
};

}  // namespace

OpResult MakeOp(const Link& link, std::span<const Shape> inputs, Phase phase) {
  return std::visit(Maker{link, inputs, phase}, link.layers.front()->op);
}

}  // namespace shoal::nn
