// Layers that slide a window or multiply a matrix.
#include "caffe/layer_reader_internal.h"

namespace shoal::caffe::internal {
namespace {

using caffe_proto::ConvolutionParameter;
using caffe_proto::PoolingParameter;
using Pair = std::array<std::int64_t, 2>;

template <class Values>
std::vector<std::int64_t> ToList(const Values& values) {
  return std::vector<std::int64_t>(values.begin(), values.end());
}

Result<nn::ConvolutionDef> ReadConvolution(const LayerReader& layer) {
  const ConvolutionParameter& proto = layer.proto().convolution_param();
  nn::ConvolutionDef op;
  if (!proto.has_num_output()) return layer.Error("convolution_param needs num_output");
  op.outputs = proto.num_output();
  SHOAL_RETURN_IF_ERROR(layer.Range("num_output", op.outputs, 1, kMaxChannels));
  op.bias = proto.bias_term();
  SHOAL_ASSIGN_OR_RETURN(op.kernel, ReadPair(layer, {.name = "kernel",
                                                     .plain = "kernel_size",
                                                     .both = ToList(proto.kernel_size()),
                                                     .has_h = proto.has_kernel_h(),
                                                     .has_w = proto.has_kernel_w(),
                                                     .h = proto.kernel_h(),
                                                     .w = proto.kernel_w(),
                                                     .low = 1,
                                                     .high = kMaxSide,
                                                     .missing = 0}));
  // Caffe lets a lone stride_h or stride_w stand, and then refuses the other as zero.
  SHOAL_ASSIGN_OR_RETURN(
      op.stride,
      ReadPair(layer, {.name = "stride",
                       .plain = "stride",
                       .both = ToList(proto.stride()),
                       .has_h = proto.has_stride_h(),
                       .has_w = proto.has_stride_w(),
                       .h = proto.stride_h(),
                       .w = proto.stride_w(),
                       .low = 1,
                       .high = kMaxSide,
                       .missing = proto.has_stride_h() != proto.has_stride_w() ? 0 : 1}));
  SHOAL_ASSIGN_OR_RETURN(op.pad, ReadPair(layer, {.name = "pad",
                                                  .plain = "pad",
                                                  .both = ToList(proto.pad()),
                                                  .has_h = proto.has_pad_h(),
                                                  .has_w = proto.has_pad_w(),
                                                  .h = proto.pad_h(),
                                                  .w = proto.pad_w(),
                                                  .low = 0,
                                                  .high = kMaxSide,
                                                  .missing = 0}));
  SHOAL_ASSIGN_OR_RETURN(op.dilation, ReadPair(layer, {.name = "dilation",
                                                       .plain = "dilation",
                                                       .both = ToList(proto.dilation()),
                                                       .has_h = false,
                                                       .has_w = false,
                                                       .h = 0,
                                                       .w = 0,
                                                       .low = 1,
                                                       .high = kMaxSide,
                                                       .missing = 1}));
  SHOAL_ASSIGN_OR_RETURN(op.weight_filler,
                         ReadFiller(layer, "weight_filler", proto.weight_filler()));
  SHOAL_ASSIGN_OR_RETURN(op.bias_filler, ReadFiller(layer, "bias_filler", proto.bias_filler()));
  return op;
}

Status CheckGroups(const LayerReader& layer, const nn::ConvolutionDef& op) {
  SHOAL_RETURN_IF_ERROR(layer.Range("group", op.groups, 1, kMaxChannels));
  if (op.outputs % op.groups == 0) return Status();
  return layer.Error("num_output " + std::to_string(op.outputs) + " is not a multiple of group " +
                     std::to_string(op.groups));
}

// Unlike a convolution's, a pooling's `x_h` without `x_w` is a mistake even where x has a default.
Result<Pair> PoolingPair(const LayerReader& layer, std::string_view name, bool has, std::int64_t x,
                         bool has_h, std::int64_t h, bool has_w, std::int64_t w, std::int64_t low) {
  PairField field{.name = name,
                  .plain = name == "kernel" ? "kernel_size" : name,
                  .both = {},
                  .has_h = has_h,
                  .has_w = has_w,
                  .h = h,
                  .w = w,
                  .low = low,
                  .high = kMaxSide,
                  .missing = has_h != has_w ? -1 : x};
  if (has) field.both = {x};
  return ReadPair(layer, field);
}

Status ReadWindow(const LayerReader& layer, const PoolingParameter& proto, nn::PoolingDef& op) {
  SHOAL_ASSIGN_OR_RETURN(op.kernel,
                         PoolingPair(layer, "kernel", proto.has_kernel_size(), proto.kernel_size(),
                                     proto.has_kernel_h(), proto.kernel_h(), proto.has_kernel_w(),
                                     proto.kernel_w(), 1));
  SHOAL_ASSIGN_OR_RETURN(op.stride, PoolingPair(layer, "stride", proto.has_stride(), proto.stride(),
                                                proto.has_stride_h(), proto.stride_h(),
                                                proto.has_stride_w(), proto.stride_w(), 1));
  SHOAL_ASSIGN_OR_RETURN(op.pad,
                         PoolingPair(layer, "pad", proto.has_pad(), proto.pad(), proto.has_pad_h(),
                                     proto.pad_h(), proto.has_pad_w(), proto.pad_w(), 0));
  if (op.pad[0] >= op.kernel[0] || op.pad[1] >= op.kernel[1]) {
    return layer.Error("pad must be smaller than the kernel, or windows hold nothing but padding");
  }
  return Status();
}

}  // namespace

OpResult MakeConvolution(const LayerReader& layer) {
  SHOAL_ASSIGN_OR_RETURN(nn::ConvolutionDef op, ReadConvolution(layer));
  const ConvolutionParameter& proto = layer.proto().convolution_param();
  if (proto.axis() != 1) return layer.Error("axis must be 1: the channels of (N, C, H, W)");
  op.groups = proto.group();
  SHOAL_RETURN_IF_ERROR(CheckGroups(layer, op));
  return nn::OpDef(op);
}

// The type some forks have for a convolution with one group per channel; they need not say so.
OpResult MakeDepthwiseConvolution(const LayerReader& layer) {
  SHOAL_ASSIGN_OR_RETURN(nn::ConvolutionDef op, ReadConvolution(layer));
  const ConvolutionParameter& proto = layer.proto().convolution_param();
  op.groups = proto.has_group() ? std::int64_t{proto.group()} : op.outputs;
  SHOAL_RETURN_IF_ERROR(CheckGroups(layer, op));
  return nn::OpDef(op);
}

OpResult MakeInnerProduct(const LayerReader& layer) {
  const auto& proto = layer.proto().inner_product_param();
  nn::InnerProductDef op;
  if (!proto.has_num_output()) return layer.Error("inner_product_param needs num_output");
  op.outputs = proto.num_output();
  SHOAL_RETURN_IF_ERROR(layer.Range("num_output", op.outputs, 1, kMaxElements));
  op.bias = proto.bias_term();
  op.axis = proto.axis();
  SHOAL_RETURN_IF_ERROR(layer.Axis("axis", op.axis));
  op.transpose = proto.transpose();
  SHOAL_ASSIGN_OR_RETURN(op.weight_filler,
                         ReadFiller(layer, "weight_filler", proto.weight_filler()));
  SHOAL_ASSIGN_OR_RETURN(op.bias_filler, ReadFiller(layer, "bias_filler", proto.bias_filler()));
  return nn::OpDef(op);
}

OpResult MakePooling(const LayerReader& layer) {
  const PoolingParameter& proto = layer.proto().pooling_param();
  nn::PoolingDef op;
  if (proto.pool() == caffe_proto::STOCHASTIC) {
    return layer.Error("pool: STOCHASTIC is not supported; use MAX or AVE");
  }
  op.method = proto.pool() == caffe_proto::AVE ? nn::PoolingDef::Method::kAverage
                                               : nn::PoolingDef::Method::kMax;
  op.ceil = proto.round_mode() == PoolingParameter::CEIL;
  op.global = proto.global_pooling();
  if (!op.global) {
    SHOAL_RETURN_IF_ERROR(ReadWindow(layer, proto, op));
    return nn::OpDef(op);
  }
  if (proto.has_kernel_size() || proto.has_kernel_h() || proto.has_kernel_w() || proto.pad() > 0 ||
      proto.stride() > 1) {
    layer.Warn("global_pooling takes the whole image; kernel, pad and stride are ignored");
  }
  return nn::OpDef(op);
}

}  // namespace shoal::caffe::internal
