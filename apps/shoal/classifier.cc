#include "shoal/classifier.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

#include "caffe/mean_file.h"
#include "caffe/weights_file.h"
#include "data/image.h"
#include "os/file.h"
#include "shoal/net_inputs.h"
#include "shoal/solver_files.h"
#include "shoal/zoo_files.h"
#include "train/weights.h"

namespace shoal {
namespace {

constexpr std::size_t kMeanBytesMax = std::size_t{256} << 20U;
constexpr std::size_t kImageBytesMax = std::size_t{256} << 20U;

Status Wrong(std::string message) { return Status(Code::kInvalidArgument, std::move(message)); }

// Takes out what reads labels; a loss leaves the probabilities that it was computed from.
void ReplaceLosses(caffe::Network& network) {
  std::vector<nn::LayerDef> kept;
  for (nn::LayerDef& layer : network.net.layers) {
    const auto* loss = std::get_if<nn::SoftmaxLossDef>(&layer.op);
    if (loss != nullptr && !layer.bottoms.empty()) {
      nn::LayerDef softmax{.name = layer.name, .op = nn::SoftmaxDef{.axis = loss->axis}};
      softmax.bottoms = {layer.bottoms[0]};
      softmax.tops = {layer.name + "/probabilities"};
      kept.push_back(std::move(softmax));
    } else if (!std::holds_alternative<nn::AccuracyDef>(layer.op) &&
               !std::holds_alternative<nn::EuclideanLossDef>(layer.op) &&
               !std::holds_alternative<nn::SilenceDef>(layer.op)) {
      kept.push_back(std::move(layer));
    }
  }
  network.net.layers = std::move(kept);
}

// None may be missing: a network with random layers guesses.
Status CopyWeights(const ClassifierOptions& options, nn::ParamStore& params) {
  SHOAL_ASSIGN_OR_RETURN(const std::string bytes, ReadWhole(options.weights));
  SHOAL_ASSIGN_OR_RETURN(const caffe::WeightsFile file, caffe::ReadWeights(options.weights, bytes));
  SHOAL_RETURN_IF_ERROR(train::CheckComplete(options.weights, file, params).Annotate(options.net));
  return train::CopyWeights(options.weights, file, params).status();
}

Result<std::optional<data::MeanImage>> ReadMeanImage(const std::string& path) {
  if (path.empty()) return std::optional<data::MeanImage>();
  SHOAL_ASSIGN_OR_RETURN(const std::string bytes, os::ReadFile(path, kMeanBytesMax));
  SHOAL_ASSIGN_OR_RETURN(const caffe::Blob mean, caffe::ReadMean(path, bytes));
  return std::optional(
      data::MeanImageFromPlanes(mean.shape[0], mean.shape[1], mean.shape[2], mean.values));
}

// The input that takes images: the only one, if labels do not count.
Result<std::string> ImageInput(const std::string& net, const nn::Graph& graph) {
  std::vector<std::string> names;
  for (const std::size_t input : graph.inputs()) {
    if (graph.values()[input].shape.rank() == 4) names.push_back(graph.values()[input].name);
  }
  if (names.size() == 1) return names[0];
  return Wrong(fmt::format("{}: has {} inputs for images, not one", net, names.size()));
}

// The numbers that the last layer with a result gives.
Result<std::string> ScoresOf(const std::string& net, const nn::Graph& graph) {
  const std::vector<std::size_t> results = graph.results();
  for (std::size_t i = results.size(); i-- > 0;) {
    const nn::Value& value = graph.values()[results[i]];
    if (value.producer && value.shape.rank() > 1 && nn::AsImages(value.shape).pixels() == 1) {
      return value.name;
    }
  }
  return Wrong(net + ": has no result with one score for each class");
}

// Photographs are made a little larger than the input and lose their edges, as those were that
// networks learnt from; small inputs get the whole image.
std::int64_t SideFor(std::int64_t input) {
  if (input < 128) return input;
  return input < 256 ? 256 : input * 8 / 7;
}

// Bilinear shrinking to less than half skips pixels; averages of four do not.
data::Image Halved(const data::Image& image) {
  data::Image half{.channels = image.channels,
                   .height = image.height / 2,
                   .width = image.width / 2,
                   .pixels = {}};
  const std::int64_t line = image.width * image.channels;
  for (std::int64_t y = 0; y < half.height; ++y) {
    for (std::int64_t x = 0; x < half.width; ++x) {
      for (std::int64_t c = 0; c < half.channels; ++c) {
        const std::uint8_t* at = image.pixels.data() + 2 * y * line + 2 * x * image.channels + c;
        const int sum = at[0] + at[image.channels] + at[line] + at[line + image.channels];
        half.pixels.push_back(static_cast<std::uint8_t>((sum + 2) / 4));
      }
    }
  }
  return half;
}

void RedFirst(data::Image& image) {
  if (image.channels != 3) return;
  for (std::size_t i = 0; i + 2 < image.pixels.size(); i += 3) {
    std::swap(image.pixels[i], image.pixels[i + 2]);
  }
}

}  // namespace

Status Classifier::PrepareImages(const ClassifierOptions& options, data::TransformDef def) {
  const Shape& input = net_->graph().values()[*net_->graph().Find(input_)].shape;
  if (!options.mean_file.empty()) def.mean_file = options.mean_file;
  if (!options.mean_values.empty()) def.mean_values = options.mean_values;
  if (!options.mean_file.empty()) def.mean_values.clear();
  if (!options.mean_values.empty()) def.mean_file.clear();
  if (options.scale) def.scale = *options.scale;
  def.mirror = false;
  red_first_ = options.red_first;
  SHOAL_ASSIGN_OR_RETURN(std::optional<data::MeanImage> mean, ReadMeanImage(def.mean_file));
  height_ = input[2];
  width_ = input[3];
  def.crop = 0;
  if (height_ == width_) {
    std::int64_t side = options.resize > 0 ? options.resize : SideFor(height_);
    if (mean) side = mean->height;
    if (side < height_ || (mean && mean->width != mean->height)) {
      return Wrong(fmt::format("{} of {} pixels a side, but {} wants {}",
                               mean ? def.mean_file : "images", side, options.net, height_));
    }
    def.crop = height_;
    height_ = width_ = side;
  }
  SHOAL_ASSIGN_OR_RETURN(transform_, data::Transform::Create(def, std::move(mean), false, 0));
  return {};
}

Result<std::unique_ptr<Classifier>> Classifier::Make(const ClassifierOptions& options,
                                                     Parallel& parallel) {
  SHOAL_ASSIGN_OR_RETURN(const caffe::NetFile file, ReadNetFile(options.net));
  SHOAL_ASSIGN_OR_RETURN(caffe::Network network, file.Build({.phase = nn::Phase::kTest}));
  ReplaceLosses(network);
  InputWishes wishes{.batch = 1, .image = options.image};
  if (!wishes.image && options.net.starts_with("zoo:")) {
    wishes.image = ZooImage(options.net.substr(4));
  }
  auto shapes = InputShapes(wishes, network);
  if (!shapes.ok()) return std::move(shapes).status().Annotate(options.net);
  std::unique_ptr<Classifier> classifier(new Classifier());
  auto net = nn::Net::Build(network.net, {.input_shapes = *std::move(shapes)}, classifier->params_,
                            classifier->chooser_, parallel);
  if (!net.ok()) return std::move(net).status().Annotate(options.net);
  classifier->net_ = *std::move(net);
  SHOAL_ASSIGN_OR_RETURN(classifier->input_, ImageInput(options.net, classifier->net_->graph()));
  SHOAL_ASSIGN_OR_RETURN(classifier->output_, ScoresOf(options.net, classifier->net_->graph()));
  SHOAL_RETURN_IF_ERROR(classifier->params_.Allocate(1, false));
  SHOAL_RETURN_IF_ERROR(CopyWeights(options, classifier->params_));
  SHOAL_RETURN_IF_ERROR(classifier->PrepareImages(
      options, network.sources.empty() ? data::TransformDef{} : network.sources[0].transform));
  return classifier;
}

std::size_t Classifier::classes() const {
  return nn::AsImages(net_->graph().values()[*net_->graph().Find(output_)].shape).channels;
}

Result<std::vector<Guess>> Classifier::Classify(const std::string& path, std::size_t guesses) {
  const nn::Blob input = *net_->blob(input_);
  const bool color = input.shape[1] == 3;
  SHOAL_ASSIGN_OR_RETURN(const std::string bytes, os::ReadFile(path, kImageBytesMax));
  data::Image image;
  SHOAL_RETURN_IF_ERROR(
      data::DecodeImage(bytes, color ? data::Colors::kColor : data::Colors::kGray, image)
          .Annotate(path));
  while (image.height >= 2 * height_ && image.width >= 2 * width_) image = Halved(image);
  if (red_first_) RedFirst(image);
  image = data::Resize(image, height_, width_);
  const data::Record record{.channels = image.channels,
                            .height = height_,
                            .width = width_,
                            .bytes = std::move(image.pixels)};
  auto shape = transform_->OutputShape(record);
  if (!shape.ok()) return std::move(shape).status().Annotate(path);
  if (*shape != data::ImageShape{input.shape[2], input.shape[3], input.shape[1]}) {
    return Wrong(fmt::format("{}: an image of {} channels, the network wants {}", path,
                             shape->channels, input.shape[1]));
  }
  transform_->Apply(record, {}, input.data, static_cast<std::int64_t>(input.stride));
  SHOAL_ASSIGN_OR_RETURN([[maybe_unused]] const double loss, net_->Forward(0));
  const nn::Blob output = *net_->blob(output_);
  std::vector<Guess> all(classes());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = {i, output.data[i]};
  std::stable_sort(all.begin(), all.end(),
                   [](const Guess& a, const Guess& b) { return a.probability > b.probability; });
  all.resize(std::min(all.size(), guesses));
  return all;
}

}  // namespace shoal
