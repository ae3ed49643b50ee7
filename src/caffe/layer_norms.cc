// Layers that normalise, scale and shift.
#include "caffe/layer_reader_internal.h"

namespace shoal::caffe::internal {
namespace {

// `num_axes` of Scale and Bias: -1 for all that follow.
Status CheckAxes(const LayerReader& layer, std::int64_t axis, std::int64_t num_axes) {
  SHOAL_RETURN_IF_ERROR(layer.Axis("axis", axis));
  return layer.Range("num_axes", num_axes, -1, kMaxAxes);
}

// What `use_global_stats` comes to, or why it cannot stand.
Result<std::optional<bool>> ReadGlobalStats(const LayerReader& layer) {
  const auto& proto = layer.proto().batch_norm_param();
  std::optional<bool> stats;
  if (proto.has_use_global_stats()) stats = proto.use_global_stats();
  if (layer.state.phase != nn::Phase::kTrain || !stats.value_or(false)) return stats;
  switch (layer.options.global_stats) {
    case GlobalStats::kKeep:
      return stats;
    case GlobalStats::kStrip:
      layer.Warn("use_global_stats: true is ignored in the train phase");
      return std::optional<bool>();
    case GlobalStats::kRefuse:
      break;
  }
  return layer.Error(
      "use_global_stats: true in the train phase freezes the statistics at what they are (zero "
      "without weights); remove the line, it is the default in the test phase");
}

}  // namespace

OpResult MakeBatchNorm(const LayerReader& layer) {
  const auto& proto = layer.proto().batch_norm_param();
  nn::BatchNormDef op;
  SHOAL_ASSIGN_OR_RETURN(op.use_global_stats, ReadGlobalStats(layer));
  op.moving_average_fraction = proto.moving_average_fraction();
  op.eps = proto.eps();
  if (!(op.eps > 0)) return layer.Error("eps must be greater than 0");
  if (!(op.moving_average_fraction >= 0 && op.moving_average_fraction <= 1)) {
    return layer.Error("moving_average_fraction must be from 0 to 1");
  }
  return nn::OpDef(op);
}

OpResult MakeLrn(const LayerReader& layer) {
  const auto& proto = layer.proto().lrn_param();
  nn::LrnDef op;
  op.region = proto.norm_region() == caffe_proto::LRNParameter::WITHIN_CHANNEL
                  ? nn::LrnDef::Region::kWithinChannel
                  : nn::LrnDef::Region::kAcrossChannels;
  op.size = proto.local_size();
  SHOAL_RETURN_IF_ERROR(layer.Range("local_size", op.size, 1, kMaxSide));
  if (op.size % 2 == 0) return layer.Error("local_size must be odd");
  op.alpha = proto.alpha();
  op.beta = proto.beta();
  op.k = proto.k();
  for (const float value : {op.alpha, op.beta, op.k}) {
    SHOAL_RETURN_IF_ERROR(layer.Finite("lrn_param", value));
  }
  return nn::OpDef(op);
}

OpResult MakeScale(const LayerReader& layer) {
  const auto& proto = layer.proto().scale_param();
  nn::ScaleDef op;
  op.axis = proto.axis();
  op.num_axes = proto.num_axes();
  SHOAL_RETURN_IF_ERROR(CheckAxes(layer, op.axis, op.num_axes));
  op.bias = proto.bias_term();
  if (proto.has_filler()) {
    SHOAL_ASSIGN_OR_RETURN(op.filler, ReadFiller(layer, "filler", proto.filler()));
  }
  SHOAL_ASSIGN_OR_RETURN(op.bias_filler, ReadFiller(layer, "bias_filler", proto.bias_filler()));
  return nn::OpDef(op);
}

OpResult MakeInnerScale(const LayerReader& layer) {
  const auto& proto = layer.proto().batch_norm_param();
  nn::ScaleDef op;
  op.bias = true;
  if (proto.has_scale_filler()) {
    SHOAL_ASSIGN_OR_RETURN(op.filler, ReadFiller(layer, "scale_filler", proto.scale_filler()));
  }
  SHOAL_ASSIGN_OR_RETURN(op.bias_filler, ReadFiller(layer, "bias_filler", proto.bias_filler()));
  return nn::OpDef(op);
}

OpResult MakeBias(const LayerReader& layer) {
  const auto& proto = layer.proto().bias_param();
  nn::BiasDef op;
  op.axis = proto.axis();
  op.num_axes = proto.num_axes();
  SHOAL_RETURN_IF_ERROR(CheckAxes(layer, op.axis, op.num_axes));
  SHOAL_ASSIGN_OR_RETURN(op.filler, ReadFiller(layer, "filler", proto.filler()));
  return nn::OpDef(op);
}

}  // namespace shoal::caffe::internal
