#include <cmath>

#include "caffe/layer_reader_internal.h"

namespace shoal::caffe::internal {
namespace {

using Kind = nn::Filler::Kind;

struct FillerName {
  std::string_view name;
  Kind kind;
};

constexpr FillerName kFillers[] = {
    {"constant", Kind::kConstant}, {"uniform", Kind::kUniform},
    {"gaussian", Kind::kGaussian}, {"xavier", Kind::kXavier},
    {"msra", Kind::kMsra},         {"positive_unitball", Kind::kPositiveUnitball},
    {"bilinear", Kind::kBilinear},
};

// NVIDIA's fork has each filler in a second version that draws its numbers once for all blobs.
std::string_view WithoutStatic(std::string_view type) {
  constexpr std::string_view kStatic = "static";
  if (type.ends_with(kStatic)) type.remove_suffix(kStatic.size());
  return type;
}

nn::Filler::Variance ToVariance(caffe_proto::FillerParameter::VarianceNorm norm) {
  switch (norm) {
    case caffe_proto::FillerParameter::FAN_OUT:
      return nn::Filler::Variance::kFanOut;
    case caffe_proto::FillerParameter::AVERAGE:
      return nn::Filler::Variance::kAverage;
    case caffe_proto::FillerParameter::FAN_IN:
      break;
  }
  return nn::Filler::Variance::kFanIn;
}

}  // namespace

void LayerReader::Warn(const std::string& what) const {
  warnings.emplace_back(LayerError(net, index, what).message());
}

Status LayerReader::Range(std::string_view field, std::int64_t value, std::int64_t low,
                          std::int64_t high) const {
  if (value >= low && value <= high) return Status();
  return Error(std::string(field) + " is " + std::to_string(value) + "; it must be from " +
               std::to_string(low) + " to " + std::to_string(high));
}

Status LayerReader::Axis(std::string_view field, std::int64_t value) const {
  return Range(field, value, -kMaxAxes, kMaxAxes - 1);
}

Status LayerReader::Finite(std::string_view field, float value) const {
  if (std::isfinite(value)) return Status();
  return Error(std::string(field) + " is not a finite number");
}

Result<nn::Filler> ReadFiller(const LayerReader& layer, std::string_view what,
                              const caffe_proto::FillerParameter& proto) {
  const std::string_view type = WithoutStatic(proto.type());
  nn::Filler filler;
  bool known = false;
  for (const FillerName& name : kFillers) {
    if (name.name != type) continue;
    filler.kind = name.kind;
    known = true;
  }
  if (!known) {
    return layer.Error(std::string(what) + " has type \"" + proto.type() +
                       "\"; use constant, uniform, gaussian, xavier, msra, positive_unitball " +
                       "or bilinear");
  }
  for (const float number : {proto.value(), proto.min(), proto.max(), proto.mean(), proto.std()}) {
    SHOAL_RETURN_IF_ERROR(layer.Finite(what, number));
  }
  filler.value = proto.value();
  filler.min = proto.min();
  filler.max = proto.max();
  filler.mean = proto.mean();
  filler.std = proto.std();
  filler.sparse = proto.sparse();
  filler.variance = ToVariance(proto.variance_norm());
  return filler;
}

Result<std::array<std::int64_t, 2>> ReadPair(const LayerReader& layer, const PairField& field) {
  const std::string name(field.name);
  const std::string plain(field.plain);
  std::array<std::int64_t, 2> pair = {field.missing, field.missing};
  if (field.has_h || field.has_w) {
    if (!field.both.empty()) {
      return layer.Error("give " + plain + " or " + name + "_h and " + name + "_w, not both");
    }
    if (field.has_h) pair[0] = field.h;
    if (field.has_w) pair[1] = field.w;
    if (pair[0] < field.low || pair[1] < field.low) {
      return layer.Error(name + "_h and " + name + "_w must both be given, and be at least " +
                         std::to_string(field.low));
    }
  } else if (field.both.size() > pair.size()) {
    return layer.Error(plain + " has " + std::to_string(field.both.size()) +
                       " values; images have 2 axes (height, width)");
  } else if (!field.both.empty()) {
    pair = {field.both.front(), field.both.back()};
  } else if (field.missing < field.low) {
    return layer.Error(plain + " is missing (or " + name + "_h and " + name + "_w)");
  }
  for (const std::int64_t value : pair) {
    SHOAL_RETURN_IF_ERROR(layer.Range(field.plain, value, field.low, field.high));
  }
  return pair;
}

Result<std::vector<std::int64_t>> ReadShape(const LayerReader& layer, std::string_view field,
                                            const caffe_proto::BlobShape& proto) {
  const std::string name(field);
  if (proto.dim_size() > kMaxAxes) {
    return layer.Error(name + " has " + std::to_string(proto.dim_size()) + " dimensions; at most " +
                       std::to_string(kMaxAxes) + " are possible");
  }
  std::int64_t elements = 1;
  for (const std::int64_t dim : proto.dim()) {
    SHOAL_RETURN_IF_ERROR(layer.Range(name + " dim", dim, 1, kMaxElements));
    if (dim > kMaxElements / elements) {
      return layer.Error(name + " has more than " + std::to_string(kMaxElements) + " elements");
    }
    elements *= dim;
  }
  return std::vector<std::int64_t>(proto.dim().begin(), proto.dim().end());
}

}  // namespace shoal::caffe::internal
