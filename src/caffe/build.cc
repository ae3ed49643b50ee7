// NetFile::Build: the layers of one phase, one after the other, and how they are connected.
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "caffe/layer_reader_internal.h"
#include "caffe/net_file.h"

namespace shoal::caffe {
namespace internal {
namespace {

constexpr int kMany = std::numeric_limits<int>::max();

struct Count {
  int low;
  int high;
};

// A layer type; either `op` or `source` is there.
struct LayerType {
  std::string_view name;
  Count bottoms;
  Count tops;
  OpResult (*op)(const LayerReader&);
  Result<data::SourceDef> (*source)(const LayerReader&) = nullptr;
};

constexpr Count kOne = {1, 1};

// In alphabetical order.
constexpr LayerType kLayerTypes[] = {
    {"Accuracy", {2, 2}, kOne, MakeAccuracy},
    {"BatchNorm", kOne, kOne, MakeBatchNorm},
    {"Bias", {1, 2}, kOne, MakeBias},
    {"Clip", kOne, kOne, MakeClip},
    {"Concat", {1, kMany}, kOne, MakeConcat},
    {"Convolution", kOne, kOne, MakeConvolution},
    {"ConvolutionDepthwise", kOne, kOne, MakeDepthwiseConvolution},
    {"Data", {0, 0}, {1, 2}, nullptr, ReadLmdbSource},
    {"DepthwiseConvolution", kOne, kOne, MakeDepthwiseConvolution},
    {"Dropout", kOne, kOne, MakeDropout},
    {"Eltwise", {2, kMany}, kOne, MakeEltwise},
    {"EuclideanLoss", {2, 2}, kOne, MakeEuclideanLoss},
    {"Flatten", kOne, kOne, MakeFlatten},
    {"ImageData", {0, 0}, {1, 2}, nullptr, ReadImageListSource},
    {"InnerProduct", kOne, kOne, MakeInnerProduct},
    {"Input", {0, 0}, {1, kMany}, MakeInput},
    {"LRN", kOne, kOne, MakeLrn},
    {"MemoryData", {0, 0}, {1, 2}, nullptr, ReadMemorySource},
    {"Pooling", kOne, kOne, MakePooling},
    {"ReLU", kOne, kOne, MakeRelu},
    {"ReLU6", kOne, kOne, MakeRelu6},
    {"Reshape", kOne, kOne, MakeReshape},
    {"Scale", {1, 2}, kOne, MakeScale},
    {"Sigmoid", kOne, kOne, MakeSigmoid},
    {"Silence", {1, kMany}, {0, 0}, MakeSilence},
    {"Slice", kOne, {1, kMany}, MakeSlice},
    {"Softmax", kOne, kOne, MakeSoftmax},
    {"SoftmaxWithLoss", {2, 2}, {1, 2}, MakeSoftmaxLoss},
    {"Split", kOne, {1, kMany}, MakeSplit},
    {"TanH", kOne, kOne, MakeTanh},
};

std::string Supported() {
  std::string list;
  for (const LayerType& type : kLayerTypes) {
    list += (list.empty() ? "" : ", ") + std::string(type.name);
  }
  return list;
}

Result<const LayerType*> FindType(const LayerReader& layer) {
  const std::string& name = layer.proto().type();
  for (const LayerType& type : kLayerTypes) {
    if (type.name == name) return &type;
  }
  if (name.empty()) return layer.Error("has no type; supported are " + Supported());
  return layer.Error("type \"" + name + "\" is not supported; supported are " + Supported());
}

Status CheckCount(const LayerReader& layer, std::string_view what, int given, Count wanted) {
  if (given >= wanted.low && given <= wanted.high) return Status();
  std::string range = std::to_string(wanted.low);
  if (wanted.high == kMany) range += " or more";
  if (wanted.high > wanted.low && wanted.high != kMany)
    range += " to " + std::to_string(wanted.high);
  return layer.Error("a layer of type " + layer.proto().type() + " needs " + range + " " +
                     std::string(what) + "; it has " + std::to_string(given));
}

// Follows names through the net: who made which blob.
class Wiring {
 public:
  Status Connect(const LayerReader& layer, nn::LayerDef& def) {
    for (const std::string& bottom : def.bottoms) {
      if (!made_by_.contains(bottom)) {
        return layer.Error("bottom \"" + bottom + "\" is not the top of any layer before it" +
                           WhoElseMakes(layer, bottom));
      }
    }
    for (std::size_t i = 0; i < def.tops.size(); ++i) {
      const bool in_place = i < def.bottoms.size() && def.tops[i] == def.bottoms[i];
      const auto [at, is_new] = made_by_.emplace(def.tops[i], def.name);
      if (!is_new && !in_place) {
        return layer.Error("top \"" + def.tops[i] + "\" is already made by layer \"" + at->second +
                           "\"; give it another name");
      }
    }
    return Status();
  }

  // For a loss without a top: legacy files let Caffe name it.
  std::string UnusedName(std::string name) const {
    while (made_by_.contains(name)) name += "_loss";
    return name;
  }

 private:
  // The layer of the file that makes the blob after all.
  static std::string WhoElseMakes(const LayerReader& layer, const std::string& blob) {
    const auto& layers = layer.net.proto.layer();
    for (int i = 0; i < layers.size(); ++i) {
      const auto& tops = layers[i].top();
      if (i == layer.index || std::find(tops.begin(), tops.end(), blob) == tops.end()) continue;
      return "; layer \"" + layers[i].name() + "\" makes it, but " +
             (i > layer.index ? "comes later" : "is not part of this phase");
    }
    return "";
  }

  std::map<std::string, std::string, std::less<>> made_by_;
};

std::vector<nn::ParamDef> ReadParams(const caffe_proto::LayerParameter& proto) {
  std::vector<nn::ParamDef> params;
  for (const auto& spec : proto.param()) {
    params.push_back({.name = spec.name(),
                      .lr_mult = spec.lr_mult(),
                      .decay_mult = spec.decay_mult(),
                      .permissive = spec.share_mode() == caffe_proto::PERMISSIVE});
  }
  // Statistics are no parameters to learn or to decay, whatever the file says.
  if (proto.type() != "BatchNorm") return params;
  params.resize(3);
  for (nn::ParamDef& param : params) param.lr_mult = param.decay_mult = 0;
  return params;
}

Status CheckParams(const LayerReader& layer, const std::vector<nn::ParamDef>& params) {
  for (const nn::ParamDef& param : params) {
    SHOAL_RETURN_IF_ERROR(layer.Finite("lr_mult", param.lr_mult));
    SHOAL_RETURN_IF_ERROR(layer.Finite("decay_mult", param.decay_mult));
  }
  return Status();
}

// A list with one entry per blob, or empty.
Status CheckPerBlob(const LayerReader& layer, std::string_view field, int entries,
                    std::string_view blobs, int count) {
  if (entries == 0 || entries == count) return Status();
  return layer.Error(std::string(field) + " is given " + std::to_string(entries) + " times for " +
                     std::to_string(count) + " " + std::string(blobs) + "; give one each, or none");
}

// A layer can be told a phase of its own; only these do anything else in it.
Status CheckPhase(const LayerReader& layer, const LayerType& type) {
  const auto& proto = layer.proto();
  const bool has_phases =
      type.source != nullptr || type.name == "BatchNorm" || type.name == "Dropout";
  if (!has_phases) return Status();
  const bool train = layer.state.phase == nn::Phase::kTrain;
  if (!proto.has_phase() || (proto.phase() == caffe_proto::TRAIN) == train) return Status();
  return layer.Error("a phase of its own is not supported; use include { phase: " +
                     caffe_proto::Phase_Name(proto.phase()) + " }");
}

// Everything but the op and the wiring.
Result<nn::LayerDef> ReadLayer(const LayerReader& layer, const LayerType& type,
                               const Wiring& wiring) {
  const auto& proto = layer.proto();
  nn::LayerDef def;
  def.name = proto.name();
  def.bottoms.assign(proto.bottom().begin(), proto.bottom().end());
  def.tops.assign(proto.top().begin(), proto.top().end());
  if (def.tops.empty() && type.name.ends_with("Loss")) {
    def.tops.push_back(wiring.UnusedName(def.name.empty() ? "loss" : def.name));
  }
  SHOAL_RETURN_IF_ERROR(CheckPhase(layer, type));
  SHOAL_RETURN_IF_ERROR(CheckCount(layer, "bottom(s)", proto.bottom_size(), type.bottoms));
  const int tops = static_cast<int>(def.tops.size());
  SHOAL_RETURN_IF_ERROR(CheckCount(layer, "top(s)", tops, type.tops));
  SHOAL_RETURN_IF_ERROR(
      CheckPerBlob(layer, "loss_weight", proto.loss_weight_size(), "top(s)", tops));
  SHOAL_RETURN_IF_ERROR(CheckPerBlob(layer, "propagate_down", proto.propagate_down_size(),
                                     "bottom(s)", proto.bottom_size()));
  def.params = ReadParams(proto);
  SHOAL_RETURN_IF_ERROR(CheckParams(layer, def.params));
  def.loss_weights.assign(proto.loss_weight().begin(), proto.loss_weight().end());
  for (const float weight : def.loss_weights) {
    SHOAL_RETURN_IF_ERROR(layer.Finite("loss_weight", weight));
  }
  def.propagate_down.assign(proto.propagate_down().begin(), proto.propagate_down().end());
  return def;
}

// NVIDIA's fork has BatchNorm and Scale in one layer; here they are two, the second in place.
Status AddInnerScale(const LayerReader& layer, const nn::LayerDef& norm, Network& network) {
  nn::LayerDef def;
  def.name = norm.name + "/scale_bias";
  def.bottoms = norm.tops;
  def.tops = norm.tops;
  SHOAL_ASSIGN_OR_RETURN(def.op, MakeInnerScale(layer));
  const auto& specs = layer.proto().param();
  for (int i = 3; i < specs.size(); ++i) {
    def.params.push_back({.name = specs[i].name(),
                          .lr_mult = specs[i].lr_mult(),
                          .decay_mult = specs[i].decay_mult()});
  }
  SHOAL_RETURN_IF_ERROR(CheckParams(layer, def.params));
  network.net.layers.push_back(std::move(def));
  return Status();
}

Status AddLayer(const LayerReader& layer, Wiring& wiring, Network& network) {
  SHOAL_ASSIGN_OR_RETURN(const LayerType* type, FindType(layer));
  SHOAL_ASSIGN_OR_RETURN(nn::LayerDef def, ReadLayer(layer, *type, wiring));
  if (type->source != nullptr) {
    SHOAL_ASSIGN_OR_RETURN(data::SourceDef source, type->source(layer));
    network.sources.push_back(std::move(source));
    def.op = nn::InputDef{};
  } else {
    SHOAL_ASSIGN_OR_RETURN(def.op, type->op(layer));
  }
  SHOAL_RETURN_IF_ERROR(wiring.Connect(layer, def));
  const nn::LayerDef& added = network.net.layers.emplace_back(std::move(def));
  const auto& proto = layer.proto();
  if (type->name != "BatchNorm" || !proto.batch_norm_param().scale_bias()) return Status();
  const nn::LayerDef norm = added;  // A copy: the list grows.
  return AddInnerScale(layer, norm, network);
}

}  // namespace
}  // namespace internal

Result<Network> NetFile::Build(const BuildOptions& options) const {
  const internal::NetText& text = *text_;
  const internal::ResolvedState state = internal::ResolveState(text.proto.state(), options);
  Network network;
  network.net.name = text.proto.name();
  network.net.phase = state.phase;
  network.net.force_backward = text.proto.force_backward();
  internal::Wiring wiring;
  std::set<std::string, std::less<>> names;
  for (int i = 0; i < text.proto.layer_size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(const bool included, internal::IsIncluded(text, i, state));
    if (!included) continue;
    const internal::LayerReader layer{
        .net = text, .index = i, .state = state, .options = options, .warnings = network.warnings};
    SHOAL_RETURN_IF_ERROR(internal::AddLayer(layer, wiring, network));
    if (!names.insert(layer.proto().name()).second) {
      layer.Warn("a layer before it has the same name; weights are found by name");
    }
  }
  if (network.net.layers.empty()) {
    return Status(Code::kInvalidArgument,
                  text.file + ": has no layers in the phase " +
                      (state.phase == nn::Phase::kTrain ? "TRAIN" : "TEST"));
  }
  return network;
}

std::vector<std::string_view> LayerTypes() {
  std::vector<std::string_view> names;
  for (const internal::LayerType& type : internal::kLayerTypes) names.push_back(type.name);
  return names;
}

}  // namespace shoal::caffe
