#include "train/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace shoal::train {
namespace {

using Params = std::vector<nn::ParamId>;  // Of a layer, by index.

// "conv1/0"
std::pair<std::string, std::size_t> SplitKey(const std::string& key) {
  const std::size_t slash = key.rfind('/');
  return {key.substr(0, slash), std::stoul(key.substr(slash + 1))};
}

std::map<std::string, Params> ParamsOfLayers(const nn::ParamStore& params) {
  std::map<std::string, std::map<std::size_t, nn::ParamId>> found;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const nn::Param& param = params[nn::ParamId{i}];
    found[param.spec.layer].emplace(param.spec.index, nn::ParamId{i});
    for (const std::string& sharer : param.sharers) {
      const auto [layer, index] = SplitKey(sharer);
      found[layer].emplace(index, nn::ParamId{i});
    }
  }
  std::map<std::string, Params> layers;
  for (const auto& [layer, by_index] : found) {
    for (const auto& [index, id] : by_index) layers[layer].push_back(id);
  }
  return layers;
}

std::vector<std::int64_t> FileShape(const nn::ParamLayout& layout) {
  const auto extents = layout.shape().extents();
  return {extents.begin(), extents.end()};
}

// In the order of nn::OpDef.
constexpr std::array<std::string_view, std::variant_size_v<nn::OpDef>> kTypes = {
    "Input",         "Convolution", "InnerProduct", "Pooling", "LRN",
    "BatchNorm",     "Scale",       "Bias",         "ReLU",    "Sigmoid",
    "TanH",          "Dropout",     "Concat",       "Eltwise", "Split",
    "Slice",         "Reshape",     "Flatten",      "Softmax", "SoftmaxWithLoss",
    "EuclideanLoss", "Accuracy",    "Silence"};

}  // namespace

caffe::Blob ToFileBlob(const nn::ParamLayout& layout, std::span<const float> memory) {
  caffe::Blob blob{.shape = FileShape(layout), .values = std::vector<float>(layout.elements())};
  layout.ToFile(memory, blob.values);
  return blob;
}

Status FromFileBlob(const caffe::Blob& blob, const nn::ParamLayout& layout,
                    std::span<float> memory) {
  const std::vector<std::int64_t> shape = FileShape(layout);
  if (!caffe::SameButForOnes(blob.shape, shape) || blob.values.size() != layout.elements()) {
    return Status(Code::kInvalidArgument,
                  fmt::format("is {} in the file and {} in the network",
                              caffe::ShapeText(blob.shape), caffe::ShapeText(shape)));
  }
  layout.FromFile(blob.values, memory);
  return {};
}

Result<std::size_t> CopyWeights(std::string_view file, const caffe::WeightsFile& weights,
                                nn::ParamStore& params) {
  const std::map<std::string, Params> layers = ParamsOfLayers(params);
  std::size_t copied = 0;
  for (const caffe::NamedBlobs& from : weights.layers) {
    const auto to = layers.find(from.layer);
    if (to == layers.end()) continue;
    if (from.blobs.size() != to->second.size()) {
      return Status(Code::kInvalidArgument,
                    fmt::format("{}: layer \"{}\" has {} blobs there and {} in the network", file,
                                from.layer, from.blobs.size(), to->second.size()));
    }
    for (std::size_t i = 0; i < from.blobs.size(); ++i) {
      const nn::ParamId id = to->second[i];
      SHOAL_RETURN_IF_ERROR(
          FromFileBlob(from.blobs[i], params[id].spec.layout, params.value(id))
              .Annotate(fmt::format("{}: layer \"{}\": blob {}", file, from.layer, i)));
    }
    ++copied;
  }
  return copied;
}

Status CheckComplete(std::string_view file, const caffe::WeightsFile& weights,
                     const nn::ParamStore& params) {
  const std::map<std::string, Params> layers = ParamsOfLayers(params);
  std::vector<bool> given(params.size(), false);
  for (const caffe::NamedBlobs& from : weights.layers) {
    const auto to = layers.find(from.layer);
    if (to == layers.end()) continue;
    for (const nn::ParamId id : to->second) given[static_cast<std::size_t>(id)] = true;
  }
  const auto missing = std::find(given.begin(), given.end(), false);
  if (missing == given.end()) return {};
  const nn::ParamId id{static_cast<std::size_t>(missing - given.begin())};
  return Status(
      Code::kInvalidArgument,
      fmt::format("{}: has no layer \"{}\", which the network wants", file, params[id].spec.layer));
}

Status LoadWeights(std::string_view file, std::string_view bytes, nn::ParamStore& params) {
  SHOAL_ASSIGN_OR_RETURN(const caffe::WeightsFile weights, caffe::ReadWeights(file, bytes));
  SHOAL_ASSIGN_OR_RETURN(const std::size_t copied, CopyWeights(file, weights, params));
  if (copied > 0) return {};
  return Status(Code::kInvalidArgument,
                fmt::format("{}: none of its {} layers has the name of a layer of the network",
                            file, weights.layers.size()));
}

caffe::WeightsFile ExportWeights(const nn::NetDef& net, nn::ParamStore& params) {
  const std::map<std::string, Params> layers = ParamsOfLayers(params);
  caffe::WeightsFile file{.net = net.name, .layers = {}};
  for (const nn::LayerDef& layer : net.layers) {
    const auto from = layers.find(layer.name);
    if (from == layers.end()) continue;
    caffe::NamedBlobs named{
        .layer = layer.name, .type = std::string(kTypes[layer.op.index()]), .blobs = {}};
    for (const nn::ParamId id : from->second) {
      named.blobs.push_back(ToFileBlob(params[id].spec.layout, params.value(id)));
    }
    file.layers.push_back(std::move(named));
  }
  return file;
}

}  // namespace shoal::train
