#include "shoal/net_inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <variant>
#include <vector>

#include "base/random.h"
#include "os/file.h"
#include "shoal/zoo_files.h"

namespace shoal {
namespace {

// A hundred times ResNet-152's.
constexpr std::size_t kPrototxtBytesMax = std::size_t{64} << 20U;
constexpr std::string_view kZoo = "zoo:";
constexpr std::int64_t kBatchMax = 1 << 20;

Result<Shape> ImageOf(const data::SourceDef& source, const InputWishes& wishes) {
  if (wishes.image) return *wishes.image;
  if (const auto* memory = std::get_if<data::MemoryDef>(&source.from)) {
    const std::int64_t height = source.transform.crop > 0 ? source.transform.crop : memory->height;
    const std::int64_t width = source.transform.crop > 0 ? source.transform.crop : memory->width;
    return Shape::Make(std::vector<std::int64_t>{memory->channels, height, width});
  }
  std::int64_t height = source.transform.crop;
  std::int64_t width = source.transform.crop;
  std::int64_t channels = source.transform.force_gray ? 1 : 3;
  if (const auto* list = std::get_if<data::ImageListDef>(&source.from); list != nullptr) {
    if (height == 0) height = list->new_height;
    if (width == 0) width = list->new_width;
    if (!list->color) channels = 1;
  }
  if (height <= 0 || width <= 0) {
    return Status(Code::kInvalidArgument,
                  fmt::format("layer '{}' has no crop_size, so the size of its images is not known "
                              "without the data set: give it with --input, as in --input 3x32x32",
                              source.layer));
  }
  return Shape::Make(std::vector<std::int64_t>{channels, height, width});
}

// Of the images that `network`'s Input layers take.
Status SetBatch(std::int64_t batch, caffe::Network& network) {
  for (nn::LayerDef& layer : network.net.layers) {
    auto* input = std::get_if<nn::InputDef>(&layer.op);
    if (input == nullptr) continue;
    for (std::vector<std::int64_t>& shape : input->shapes) {
      if (!shape.empty()) shape[0] = batch;
    }
  }
  return {};
}

bool IsLabel(const caffe::Network& network, const std::string& name) {
  return name == "label" ||
         std::any_of(network.sources.begin(), network.sources.end(),
                     [&](const data::SourceDef& source) { return source.label_top == name; });
}

// As many as the fewest that a reader of the labels scores.
std::uint64_t ClassesOf(const nn::Graph& graph, std::size_t label) {
  std::int64_t classes = 1000;
  for (const std::size_t node : graph.values()[label].consumers) {
    const std::size_t scores = graph.nodes()[node].inputs[0];
    const Shape& shape = graph.values()[scores].shape;
    if (scores != label && shape.rank() > 1) classes = std::min(classes, shape[1]);
  }
  return static_cast<std::uint64_t>(std::max<std::int64_t>(classes, 1));
}

}  // namespace

Result<caffe::NetFile> ReadNetFile(const std::string& net) {
  if (net.starts_with(kZoo)) {
    const std::string_view name = std::string_view(net).substr(kZoo.size());
    SHOAL_ASSIGN_OR_RETURN(const ZooFile zoo, FindZooFile(name, "train_val.prototxt"));
    return caffe::NetFile::Parse(net, zoo.text);
  }
  SHOAL_ASSIGN_OR_RETURN(const std::string text, os::ReadFile(net, kPrototxtBytesMax));
  return caffe::NetFile::Parse(net, text);
}

Result<Shape> ParseImageShape(const std::string& text) {
  std::vector<std::int64_t> extents;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at != end) {
    std::int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    const bool more = next != end && *next == 'x' && next + 1 != end;
    if (error != std::errc() || extent < 1 || (next != end && !more)) break;
    extents.push_back(extent);
    at = more ? next + 1 : end;
  }
  if (at != end || extents.size() != 3) {
    return Status(
        Code::kInvalidArgument,
        fmt::format("'{}' is no shape of an image: write 3x32x32 (channels, height, width)", text));
  }
  return Shape::Make(extents);
}

Result<std::map<std::string, Shape>> InputShapes(const InputWishes& wishes,
                                                 caffe::Network& network) {
  if (wishes.batch > 0) SHOAL_RETURN_IF_ERROR(SetBatch(wishes.batch, network));
  std::map<std::string, Shape> shapes;
  for (const data::SourceDef& source : network.sources) {
    SHOAL_ASSIGN_OR_RETURN(const Shape image, ImageOf(source, wishes));
    const std::int64_t batch = wishes.batch > 0 ? wishes.batch : source.batch;
    if (batch < 1 || batch > kBatchMax) {
      return Status(Code::kInvalidArgument,
                    fmt::format("layer '{}': a batch of {} images", source.layer, batch));
    }
    Result<Shape> shape =
        Shape::Make(std::vector<std::int64_t>{batch, image[0], image[1], image[2]});
    if (!shape.ok()) return std::move(shape).status().Annotate("layer '" + source.layer + "'");
    shapes[source.data_top] = *shape;
    if (!source.label_top.empty()) shapes[source.label_top] = Shape{batch};
  }
  return shapes;
}

void FillInputs(const caffe::Network& network, std::uint64_t seed, nn::Net& net) {
  const nn::Graph& graph = net.graph();
  for (const std::size_t value : graph.inputs()) {
    Random random(seed, value);
    const bool label = IsLabel(network, graph.values()[value].name);
    const std::uint64_t classes = label ? ClassesOf(graph, value) : 0;
    const nn::Blob blob = net.blob(value);
    if (blob.data == nullptr) continue;  // Nobody reads it.
    const kernels::Rows rows = blob.rows();
    for (std::size_t r = 0; r < rows.rows; ++r) {
      for (std::size_t c = 0; c < rows.channels; ++c) {
        rows.row(r)[c] = label ? static_cast<float>(random.Below(classes))
                               : static_cast<float>(random.Unit() * 2 - 1);
      }
    }
  }
}

}  // namespace shoal
