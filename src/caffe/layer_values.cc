// Layers that work value by value, and those that end a network.
#include "caffe/layer_reader_internal.h"

namespace shoal::caffe::internal {
namespace {

nn::Normalization ToNormalization(const caffe_proto::LossParameter& proto) {
  using caffe_proto::LossParameter;
  if (!proto.has_normalization() && proto.has_normalize()) {
    return proto.normalize() ? nn::Normalization::kValid : nn::Normalization::kBatchSize;
  }
  switch (proto.normalization()) {
    case LossParameter::FULL:
      return nn::Normalization::kFull;
    case LossParameter::BATCH_SIZE:
      return nn::Normalization::kBatchSize;
    case LossParameter::NONE:
      return nn::Normalization::kNone;
    case LossParameter::VALID:
      break;
  }
  return nn::Normalization::kValid;
}

}  // namespace

OpResult MakeRelu(const LayerReader& layer) {
  nn::ReluDef op;
  op.negative_slope = layer.proto().relu_param().negative_slope();
  SHOAL_RETURN_IF_ERROR(layer.Finite("negative_slope", op.negative_slope));
  return nn::OpDef(op);
}

OpResult MakeRelu6(const LayerReader& layer) {
  SHOAL_ASSIGN_OR_RETURN(nn::OpDef op, MakeRelu(layer));
  std::get<nn::ReluDef>(op).max = 6.0F;
  return op;
}

OpResult MakeClip(const LayerReader& layer) {
  const auto& proto = layer.proto().clip_param();
  if (!proto.has_min() || !proto.has_max()) return layer.Error("clip_param needs min and max");
  if (proto.min() != 0) return layer.Error("clip_param min must be 0 (a ReLU with a maximum)");
  if (!(proto.max() > 0)) return layer.Error("clip_param max must be greater than min");
  return nn::OpDef(nn::ReluDef{.max = proto.max()});
}

OpResult MakeSigmoid(const LayerReader& /*layer*/) { return nn::OpDef(nn::SigmoidDef{}); }

OpResult MakeTanh(const LayerReader& /*layer*/) { return nn::OpDef(nn::TanhDef{}); }

OpResult MakeDropout(const LayerReader& layer) {
  nn::DropoutDef op;
  op.ratio = layer.proto().dropout_param().dropout_ratio();
  if (!(op.ratio >= 0 && op.ratio < 1)) {
    return layer.Error("dropout_ratio must be at least 0 and less than 1");
  }
  return nn::OpDef(op);
}

OpResult MakeSoftmax(const LayerReader& layer) {
  nn::SoftmaxDef op;
  op.axis = layer.proto().softmax_param().axis();
  SHOAL_RETURN_IF_ERROR(layer.Axis("axis", op.axis));
  return nn::OpDef(op);
}

OpResult MakeSoftmaxLoss(const LayerReader& layer) {
  const auto& proto = layer.proto().loss_param();
  nn::SoftmaxLossDef op;
  op.axis = layer.proto().softmax_param().axis();
  SHOAL_RETURN_IF_ERROR(layer.Axis("axis", op.axis));
  if (proto.has_ignore_label()) op.ignore_label = proto.ignore_label();
  op.normalization = ToNormalization(proto);
  return nn::OpDef(op);
}

OpResult MakeEuclideanLoss(const LayerReader& /*layer*/) {
  return nn::OpDef(nn::EuclideanLossDef{});
}

OpResult MakeAccuracy(const LayerReader& layer) {
  const auto& proto = layer.proto().accuracy_param();
  nn::AccuracyDef op;
  op.axis = proto.axis();
  SHOAL_RETURN_IF_ERROR(layer.Axis("axis", op.axis));
  op.top_k = proto.top_k();
  SHOAL_RETURN_IF_ERROR(layer.Range("top_k", op.top_k, 1, kMaxElements));
  if (proto.has_ignore_label()) op.ignore_label = proto.ignore_label();
  return nn::OpDef(op);
}

}  // namespace shoal::caffe::internal
