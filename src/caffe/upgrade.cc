#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "caffe/upgrade_internal.h"

namespace shoal::caffe::internal {
namespace {

using caffe_proto::LayerParameter;
using caffe_proto::NetParameter;
using caffe_proto::V1LayerParameter;

struct Spelling {
  int number;
  const char* name;
};

// Names that are not their enumerator in CamelCase.
constexpr Spelling kSpecialTypes[] = {
    {V1LayerParameter::ARGMAX, "ArgMax"},
    {V1LayerParameter::ABSVAL, "AbsVal"},
    {V1LayerParameter::BNLL, "BNLL"},
    {V1LayerParameter::HDF5_DATA, "HDF5Data"},
    {V1LayerParameter::HDF5_OUTPUT, "HDF5Output"},
    {V1LayerParameter::LRN, "LRN"},
    {V1LayerParameter::MVN, "MVN"},
    {V1LayerParameter::RELU, "ReLU"},
    {V1LayerParameter::TANH, "TanH"},
    {V1LayerParameter::NONE, ""},
    {V1LayerParameter::SOFTMAX_LOSS, "SoftmaxWithLoss"},
};

std::string CamelCase(const std::string& enumerator) {
  std::string name;
  bool start = true;
  for (const char c : enumerator) {
    if (c != '_') name += start || c < 'A' || c > 'Z' ? c : static_cast<char>(c - 'A' + 'a');
    start = c == '_';
  }
  return name;
}

caffe_proto::ParamSpec& Param(LayerParameter& layer, int index) {
  while (layer.param_size() <= index) layer.add_param();
  return *layer.mutable_param(index);
}

// Fields of the same name and type are copied; `type` and `param` have changed their kind.
LayerParameter UpgradeV1Layer(const V1LayerParameter& from) {
  LayerParameter to;
  const auto* in = from.GetReflection();
  const auto* out = to.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  in->ListFields(from, &fields);
  for (const auto* field : fields) {
    const auto* target = LayerParameter::descriptor()->FindFieldByName(field->name());
    const bool is_block = target != nullptr && !field->is_repeated() &&
                          field->message_type() != nullptr &&
                          field->message_type() == target->message_type();
    if (is_block) out->MutableMessage(&to, target)->CopyFrom(in->GetMessage(from, field));
  }
  to.set_name(from.name());
  if (from.has_type()) to.set_type(V1TypeName(from.type()));
  *to.mutable_bottom() = from.bottom();
  *to.mutable_top() = from.top();
  *to.mutable_include() = from.include();
  *to.mutable_exclude() = from.exclude();
  *to.mutable_loss_weight() = from.loss_weight();
  for (int i = 0; i < from.param_size(); ++i) Param(to, i).set_name(from.param(i));
  for (int i = 0; i < from.blob_share_mode_size(); ++i) {
    Param(to, i).set_share_mode(from.blob_share_mode(i));
  }
  SetMultipliers(from.blobs_lr(), from.weight_decay(), to);
  return to;
}

template <class Block>
void MoveTransform(Block& from, caffe_proto::TransformationParameter& to) {
  if (from.has_scale()) to.set_scale(from.scale());
  if (from.has_mean_file()) to.set_mean_file(from.mean_file());
  if (from.has_crop_size()) to.set_crop_size(from.crop_size());
  if (from.has_mirror()) to.set_mirror(from.mirror());
}

// Only in V1 files: today's Caffe ignores these fields in a `layer`.
void UpgradeTransform(LayerParameter& layer) {
  if (layer.has_data_param()) {
    MoveTransform(*layer.mutable_data_param(), *layer.mutable_transform_param());
  }
  if (layer.has_image_data_param()) {
    MoveTransform(*layer.mutable_image_data_param(), *layer.mutable_transform_param());
  }
}

Status UpgradeLayers(NetText& net) {
  NetParameter& proto = net.proto;
  if (proto.layers_size() == 0) return Status();
  if (proto.layer_size() > 0) {
    return Status(Code::kInvalidArgument,
                  net.file + ": has both \"layer\" and (older) \"layers\" blocks; write all of " +
                      "them as layer { type: \"Name\" }");
  }
  SHOAL_RETURN_IF_ERROR(FoldPadding(net));
  for (const V1LayerParameter& layer : proto.layers()) {
    *proto.add_layer() = layer.has_layer() ? UpgradeV0Layer(layer) : UpgradeV1Layer(layer);
    UpgradeTransform(*proto.mutable_layer(proto.layer_size() - 1));
  }
  proto.clear_layers();
  return Status();
}

// `input` and its shapes become an Input layer in front of the others.
Status UpgradeInput(NetText& net) {
  NetParameter& proto = net.proto;
  const int inputs = proto.input_size();
  const bool by_shape = proto.input_shape_size() > 0;
  if (inputs == 0) return Status();
  const int given = by_shape ? proto.input_shape_size() : proto.input_dim_size();
  const int wanted = by_shape ? inputs : 4 * inputs;
  if (given != wanted) {
    return Status(Code::kInvalidArgument, net.file + ": " + std::to_string(inputs) +
                                              " input(s) need " + std::to_string(wanted) +
                                              (by_shape ? " input_shape" : " input_dim") +
                                              " entries; there are " + std::to_string(given));
  }
  LayerParameter& layer = *proto.add_layer();
  layer.set_name("input");
  layer.set_type("Input");
  *layer.mutable_top() = proto.input();
  for (int i = 0; i < inputs; ++i) {
    caffe_proto::BlobShape& shape = *layer.mutable_input_param()->add_shape();
    if (by_shape) shape = proto.input_shape(i);
    for (int j = 0; !by_shape && j < 4; ++j) shape.add_dim(proto.input_dim(4 * i + j));
  }
  for (int i = proto.layer_size() - 1; i > 0; --i) {
    proto.mutable_layer()->SwapElements(i, i - 1);
  }
  net.lines.insert(net.lines.begin(), 0);
  return Status();
}

}  // namespace

std::string V1TypeName(int type) {
  for (const Spelling& special : kSpecialTypes) {
    if (special.number == type) return special.name;
  }
  if (!V1LayerParameter::LayerType_IsValid(type)) return std::to_string(type);
  return CamelCase(
      V1LayerParameter::LayerType_Name(static_cast<V1LayerParameter::LayerType>(type)));
}

void SetMultipliers(const Multipliers& lr, const Multipliers& decay, LayerParameter& to) {
  for (int i = 0; i < lr.size(); ++i) Param(to, i).set_lr_mult(lr.Get(i));
  for (int i = 0; i < decay.size(); ++i) Param(to, i).set_decay_mult(decay.Get(i));
}

Status UpgradeNet(NetText& net) {
  SHOAL_RETURN_IF_ERROR(UpgradeLayers(net));
  return UpgradeInput(net);
}

}  // namespace shoal::caffe::internal
