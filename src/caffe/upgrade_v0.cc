// Layers of 2013: everything about a layer in one message, told apart by `type`.
#include <google/protobuf/descriptor.h>

#include <map>
#include <utility>

#include "caffe/upgrade_internal.h"

namespace shoal::caffe::internal {
namespace {

using caffe_proto::LayerParameter;
using caffe_proto::V0LayerParameter;
using caffe_proto::V1LayerParameter;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

struct TypeName {
  std::string_view v0;
  std::string_view now;
};

constexpr TypeName kTypes[] = {
    {"accuracy", "Accuracy"},
    {"bnll", "BNLL"},
    {"concat", "Concat"},
    {"conv", "Convolution"},
    {"data", "Data"},
    {"dropout", "Dropout"},
    {"euclidean_loss", "EuclideanLoss"},
    {"flatten", "Flatten"},
    {"hdf5_data", "HDF5Data"},
    {"hdf5_output", "HDF5Output"},
    {"im2col", "Im2col"},
    {"images", "ImageData"},
    {"infogain_loss", "InfogainLoss"},
    {"innerproduct", "InnerProduct"},
    {"lrn", "LRN"},
    {"multinomial_logistic_loss", "MultinomialLogisticLoss"},
    {"pool", "Pooling"},
    {"relu", "ReLU"},
    {"sigmoid", "Sigmoid"},
    {"softmax", "Softmax"},
    {"softmax_loss", "SoftmaxWithLoss"},
    {"split", "Split"},
    {"tanh", "TanH"},
    {"window_data", "WindowData"},
};

// Where a field of a type is today.
struct Move {
  std::string_view type;  // "*": any.
  const char* from;
  const char* block;
  const char* to;
};

constexpr Move kMoves[] = {
    {"conv", "num_output", "convolution_param", "num_output"},
    {"conv", "biasterm", "convolution_param", "bias_term"},
    {"conv", "weight_filler", "convolution_param", "weight_filler"},
    {"conv", "bias_filler", "convolution_param", "bias_filler"},
    {"conv", "pad", "convolution_param", "pad"},
    {"conv", "kernelsize", "convolution_param", "kernel_size"},
    {"conv", "group", "convolution_param", "group"},
    {"conv", "stride", "convolution_param", "stride"},
    {"innerproduct", "num_output", "inner_product_param", "num_output"},
    {"innerproduct", "biasterm", "inner_product_param", "bias_term"},
    {"innerproduct", "weight_filler", "inner_product_param", "weight_filler"},
    {"innerproduct", "bias_filler", "inner_product_param", "bias_filler"},
    {"pool", "pool", "pooling_param", "pool"},
    {"pool", "pad", "pooling_param", "pad"},
    {"pool", "kernelsize", "pooling_param", "kernel_size"},
    {"pool", "stride", "pooling_param", "stride"},
    {"dropout", "dropout_ratio", "dropout_param", "dropout_ratio"},
    {"lrn", "local_size", "lrn_param", "local_size"},
    {"lrn", "alpha", "lrn_param", "alpha"},
    {"lrn", "beta", "lrn_param", "beta"},
    {"lrn", "k", "lrn_param", "k"},
    {"data", "source", "data_param", "source"},
    {"data", "batchsize", "data_param", "batch_size"},
    {"data", "rand_skip", "data_param", "rand_skip"},
    {"images", "source", "image_data_param", "source"},
    {"images", "batchsize", "image_data_param", "batch_size"},
    {"images", "rand_skip", "image_data_param", "rand_skip"},
    {"images", "shuffle_images", "image_data_param", "shuffle"},
    {"images", "new_height", "image_data_param", "new_height"},
    {"images", "new_width", "image_data_param", "new_width"},
    {"concat", "concat_dim", "concat_param", "concat_dim"},
    {"*", "scale", "transform_param", "scale"},
    {"*", "meanfile", "transform_param", "mean_file"},
    {"*", "cropsize", "transform_param", "crop_size"},
    {"*", "mirror", "transform_param", "mirror"},
};

// Copies one field of `from` into a field of `to`, which may be repeated or differ in signedness.
void CopyField(const Message& from, const FieldDescriptor* source, Message& to,
               const FieldDescriptor* target) {
  const auto* in = from.GetReflection();
  const auto* out = to.GetReflection();
  switch (source->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      if (target->is_repeated()) return out->AddUInt32(&to, target, in->GetUInt32(from, source));
      return out->SetUInt32(&to, target, in->GetUInt32(from, source));
    case FieldDescriptor::CPPTYPE_INT32:  // Sizes that became unsigned; too large is refused later.
      return out->SetUInt32(&to, target, static_cast<std::uint32_t>(in->GetInt32(from, source)));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return out->SetFloat(&to, target, in->GetFloat(from, source));
    case FieldDescriptor::CPPTYPE_BOOL:
      return out->SetBool(&to, target, in->GetBool(from, source));
    case FieldDescriptor::CPPTYPE_ENUM:
      return out->SetEnumValue(&to, target, in->GetEnumValue(from, source));
    case FieldDescriptor::CPPTYPE_STRING:
      return out->SetString(&to, target, in->GetString(from, source));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return out->MutableMessage(&to, target)->CopyFrom(in->GetMessage(from, source));
    default:
      SHOAL_CHECK(false);  // kMoves has no such field.
  }
}

void ApplyMoves(const V0LayerParameter& from, LayerParameter& to) {
  for (const Move& move : kMoves) {
    if (move.type != "*" && move.type != from.type()) continue;
    const FieldDescriptor* source = V0LayerParameter::descriptor()->FindFieldByName(move.from);
    if (!from.GetReflection()->HasField(from, source)) continue;
    const FieldDescriptor* block = LayerParameter::descriptor()->FindFieldByName(move.block);
    Message* target = to.GetReflection()->MutableMessage(&to, block);
    CopyField(from, source, *target, target->GetDescriptor()->FindFieldByName(move.to));
  }
}

}  // namespace

LayerParameter UpgradeV0Layer(const V1LayerParameter& connection) {
  const V0LayerParameter& from = connection.layer();
  LayerParameter to;
  to.set_name(from.name());
  to.set_type(from.type());
  for (const TypeName& type : kTypes) {
    if (type.v0 == from.type()) to.set_type(std::string(type.now));
  }
  *to.mutable_bottom() = connection.bottom();
  *to.mutable_top() = connection.top();
  *to.mutable_include() = connection.include();
  *to.mutable_exclude() = connection.exclude();
  SetMultipliers(from.blobs_lr(), from.weight_decay(), to);
  ApplyMoves(from, to);
  return to;
}

Status FoldPadding(NetText& net) {
  std::map<std::string, int, std::less<>> padding;  // Blob -> the padding layer that makes it.
  for (int i = 0; i < net.proto.layers_size(); ++i) {
    V1LayerParameter& layer = *net.proto.mutable_layers(i);
    for (std::string& bottom : *layer.mutable_bottom()) {
      const auto found = padding.find(bottom);
      if (found == padding.end()) continue;
      const std::string& type = layer.layer().type();
      if (type != "conv" && type != "pool") {
        return Status(Code::kInvalidArgument, net.file + ": layer \"" + layer.layer().name() +
                                                  "\": only conv and pool may follow a padding " +
                                                  "layer, not " + type);
      }
      const V1LayerParameter& pad = net.proto.layers(found->second);
      layer.mutable_layer()->set_pad(pad.layer().pad());
      bottom = pad.bottom(0);
    }
    const bool is_padding = layer.layer().type() == "padding";
    for (const std::string& top : layer.top()) {
      padding.erase(top);
      if (is_padding && layer.bottom_size() == 1) padding[top] = i;
    }
  }
  for (int i = net.proto.layers_size() - 1; i >= 0; --i) {
    if (net.proto.layers(i).layer().type() != "padding") continue;
    net.proto.mutable_layers()->DeleteSubrange(i, 1);
    net.lines.erase(net.lines.begin() + i);
  }
  return Status();
}

}  // namespace shoal::caffe::internal
