// Layers that bring blobs, join, cut and reshape them.
#include "caffe/layer_reader_internal.h"

namespace shoal::caffe::internal {

OpResult MakeInput(const LayerReader& layer) {
  const auto& proto = layer.proto().input_param();
  const int tops = layer.proto().top_size();
  const int shapes = proto.shape_size();
  if (shapes != 1 && shapes != tops) {
    return layer.Error("input_param has " + std::to_string(shapes) + " shape(s) for " +
                       std::to_string(tops) + " top(s); give one for all, or one each");
  }
  nn::InputDef op;
  for (const auto& shape : proto.shape()) {
    SHOAL_ASSIGN_OR_RETURN(auto dims, ReadShape(layer, "input shape", shape));
    if (dims.empty()) return layer.Error("input shape has no dimensions (dim: 1 dim: 3 ...)");
    op.shapes.push_back(std::move(dims));
  }
  return nn::OpDef(op);
}

OpResult MakeConcat(const LayerReader& layer) {
  const auto& proto = layer.proto().concat_param();
  if (proto.has_axis() && proto.has_concat_dim()) {
    return layer.Error("give axis or (older) concat_dim, not both");
  }
  nn::ConcatDef op;
  op.axis = proto.has_concat_dim() ? std::int64_t{proto.concat_dim()} : proto.axis();
  SHOAL_RETURN_IF_ERROR(layer.Axis("axis", op.axis));
  return nn::OpDef(op);
}

OpResult MakeSlice(const LayerReader& layer) {
  const auto& proto = layer.proto().slice_param();
  if (proto.has_axis() && proto.has_slice_dim()) {
    return layer.Error("give axis or (older) slice_dim, not both");
  }
  nn::SliceDef op;
  op.axis = proto.has_slice_dim() ? std::int64_t{proto.slice_dim()} : proto.axis();
  SHOAL_RETURN_IF_ERROR(layer.Axis("axis", op.axis));
  op.points.assign(proto.slice_point().begin(), proto.slice_point().end());
  if (!op.points.empty() && proto.slice_point_size() != layer.proto().top_size() - 1) {
    return layer.Error(std::to_string(layer.proto().top_size()) + " tops need " +
                       std::to_string(layer.proto().top_size() - 1) + " slice_point entries; " +
                       "there are " + std::to_string(proto.slice_point_size()));
  }
  std::int64_t previous = 0;
  for (const std::int64_t point : op.points) {
    if (point <= previous) return layer.Error("slice_point entries must grow, from 1");
    previous = point;
  }
  return nn::OpDef(op);
}

OpResult MakeSplit(const LayerReader& /*layer*/) { return nn::OpDef(nn::SplitDef{}); }

OpResult MakeEltwise(const LayerReader& layer) {
  using caffe_proto::EltwiseParameter;
  const EltwiseParameter& proto = layer.proto().eltwise_param();
  nn::EltwiseDef op;
  if (proto.operation() == EltwiseParameter::PROD)
    op.operation = nn::EltwiseDef::Operation::kProduct;
  if (proto.operation() == EltwiseParameter::MAX) op.operation = nn::EltwiseDef::Operation::kMax;
  op.coefficients.assign(proto.coeff().begin(), proto.coeff().end());
  if (op.coefficients.empty()) return nn::OpDef(op);
  if (op.operation != nn::EltwiseDef::Operation::kSum) {
    return layer.Error("coeff is only for operation: SUM");
  }
  if (proto.coeff_size() != layer.proto().bottom_size()) {
    return layer.Error(std::to_string(layer.proto().bottom_size()) + " bottoms need as many " +
                       "coeff entries; there are " + std::to_string(proto.coeff_size()));
  }
  for (const float value : op.coefficients) {
    SHOAL_RETURN_IF_ERROR(layer.Finite("coeff", value));
  }
  return nn::OpDef(op);
}

OpResult MakeReshape(const LayerReader& layer) {
  const auto& proto = layer.proto().reshape_param();
  nn::ReshapeDef op;
  op.axis = proto.axis();
  SHOAL_RETURN_IF_ERROR(layer.Axis("axis", op.axis));
  op.num_axes = proto.num_axes();
  SHOAL_RETURN_IF_ERROR(layer.Range("num_axes", op.num_axes, -1, kMaxAxes));
  if (proto.shape().dim_size() > kMaxAxes) return layer.Error("shape has too many dimensions");
  int inferred = 0;
  for (const std::int64_t dim : proto.shape().dim()) {
    SHOAL_RETURN_IF_ERROR(layer.Range("shape dim", dim, -1, kMaxElements));
    inferred += dim == -1 ? 1 : 0;
    op.dims.push_back(dim);
  }
  if (inferred > 1) return layer.Error("shape has more than one dim: -1");
  return nn::OpDef(op);
}

OpResult MakeFlatten(const LayerReader& layer) {
  const auto& proto = layer.proto().flatten_param();
  nn::FlattenDef op{.axis = proto.axis(), .end_axis = proto.end_axis()};
  SHOAL_RETURN_IF_ERROR(layer.Axis("axis", op.axis));
  SHOAL_RETURN_IF_ERROR(layer.Axis("end_axis", op.end_axis));
  return nn::OpDef(op);
}

OpResult MakeSilence(const LayerReader& /*layer*/) { return nn::OpDef(nn::SilenceDef{}); }

}  // namespace shoal::caffe::internal
