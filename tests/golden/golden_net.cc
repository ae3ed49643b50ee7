#include "golden_net.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "base/hash.h"
#include "caffe/net_file.h"

namespace shoal::golden {
namespace {

std::string Text(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::uint64_t Fnv1a(std::string_view text) {
  std::uint64_t value = 0xCBF29CE484222325;
  for (const char c : text) {
    value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  }
  return value;
}

// float32(offset + scale * unit), as hashed.values.
std::vector<float> Values(const std::string& key, std::size_t count, double scale, double offset) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(offset + scale * Unit(key, i));
  }
  return values;
}

const nn::LayerDef& LayerOf(const nn::NetDef& net, const std::string& name) {
  for (const nn::LayerDef& layer : net.layers) {
    if (layer.name == name) return layer;
  }
  ADD_FAILURE() << name;
  return net.layers.front();
}

std::vector<float> ParamStart(const nn::LayerDef& layer, const nn::ParamSpec& spec,
                              const FillRule& fill) {
  const std::string key = spec.layer + "/" + std::to_string(spec.index);
  const std::size_t count = spec.layout.elements();
  if (std::holds_alternative<nn::BatchNormDef>(layer.op)) {
    if (spec.index == 2) return std::vector<float>(count, 1.0F);
    return Values(key, count, 0.1, static_cast<double>(spec.index));
  }
  const bool scale = std::holds_alternative<nn::ScaleDef>(layer.op);
  if (scale && spec.index == 0 && layer.bottoms.size() == 1) return Values(key, count, 0.1, 1);
  if (scale) return Values(key, count, 0.1, fill.beta);
  if (std::holds_alternative<nn::BiasDef>(layer.op) || spec.index == 1) {
    return Values(key, count, 0.1, 0);
  }
  const double fan_in = static_cast<double>(count) / static_cast<double>(spec.layout.shape()[0]);
  if (fill.lean == 0) return Values(key, count, std::sqrt(6 / fan_in), 0);
  const double scale_of_lean = std::sqrt(1 / (fan_in * (fill.lean * fill.lean + 1.0 / 3)));
  return Values(key, count, scale_of_lean, scale_of_lean * fill.lean / std::sqrt(fan_in));
}

}  // namespace

std::uint64_t Hash(std::string_view key, std::uint64_t i) {
  return Avalanche(Fnv1a(key) + i + 0x9e3779b97f4a7c15ULL);
}

double Unit(std::string_view key, std::uint64_t i) {
  return static_cast<double>(Hash(key, i) >> 40U) / (1 << 24) * 2 - 1;
}

nlohmann::json Load(const std::string& name) {
  return nlohmann::json::parse(Text(std::string(SHOAL_GOLDEN) + "/" + name));
}

std::string ZooText(const std::string& net) {
  return Text(std::string(SHOAL_ZOO) + "/" + net + "/train_val.prototxt");
}

std::vector<double> Digest(std::span<const float> values) {
  std::vector<double> digest(13, 0);
  const std::uint64_t probe = Fnv1a("probe");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    digest[0] += value * value;
    const std::uint64_t bits = Avalanche(probe + i + 0x9e3779b97f4a7c15ULL);
    for (unsigned j = 0; j < 4; ++j) digest[1 + j] += ((bits >> j) & 1U) != 0 ? value : -value;
  }
  digest[0] = std::sqrt(digest[0]);
  for (std::uint64_t k = 0; k < 8; ++k) digest[5 + k] = values[Hash("sample", k) % values.size()];
  return digest;
}

GoldenNet::GoldenNet(const std::string& prototxt, const std::vector<std::int64_t>& input,
                     nn::ConvChooser& chooser, Parallel& parallel, const FillRule& fill,
                     bool fuse) {
  const Result<caffe::NetFile> file = caffe::NetFile::Parse("golden.prototxt", prototxt);
  EXPECT_TRUE(file.ok()) << file.status().ToString();
  Result<caffe::Network> network = file->Build({.global_stats = caffe::GlobalStats::kKeep});
  EXPECT_TRUE(network.ok()) << network.status().ToString();
  for (nn::LayerDef& layer : network->net.layers) {
    if (auto* dropout = std::get_if<nn::DropoutDef>(&layer.op)) dropout->ratio = 0;
  }
  nn::NetOptions options{.backward = true, .fuse = fuse};
  if (!input.empty()) {
    options.input_shapes["data"] = *Shape::Make(input);
    options.input_shapes["label"] = Shape{input[0]};
  }
  Result<std::unique_ptr<nn::Net>> net =
      nn::Net::Build(network->net, options, params_, chooser, parallel);
  EXPECT_TRUE(net.ok()) << net.status().ToString();
  net_ = *std::move(net);
  EXPECT_TRUE(params_.Allocate(1, true).ok());
  FillParams(network->net, fill);
}

void GoldenNet::FillParams(const nn::NetDef& net, const FillRule& fill) {
  for (std::size_t i = 0; i < params_.size(); ++i) {
    const nn::ParamSpec& spec = params_[nn::ParamId{i}].spec;
    spec.layout.FromFile(ParamStart(LayerOf(net, spec.layer), spec, fill),
                         params_.value(nn::ParamId{i}));
  }
}

void GoldenNet::FillInput(const std::string& name, int step) {
  const nn::Blob blob = *net_->blob(name);
  FromFileOrder(Values(name + "/" + std::to_string(step), blob.elements(), 1, 0), blob);
}

void GoldenNet::FillLabels(const std::string& name, std::uint64_t classes, int step) {
  const nn::Blob blob = *net_->blob(name);
  for (std::size_t i = 0; i < blob.elements(); ++i) {
    blob.data[i] = static_cast<float>(Hash(name + "/" + std::to_string(step), i) % classes);
  }
}

std::vector<float> GoldenNet::Value(nn::ParamId id) {
  std::vector<float> file(params_.value(id).size());
  params_[id].spec.layout.ToFile(params_.value(id), file);
  return file;
}

std::vector<float> GoldenNet::Gradient(nn::ParamId id) {
  std::vector<float> file(params_.gradient(id).size());
  params_[id].spec.layout.ToFile(params_.gradient(id), file);
  return file;
}

std::string GoldenNet::Key(nn::ParamId id) const {
  return params_[id].spec.layer + "/" + std::to_string(params_[id].spec.index);
}

std::vector<float> GoldenNet::InFileOrder(const nn::Blob& blob) {
  const nn::ImageShape images = nn::AsImages(blob.shape);
  const std::size_t pixels = images.height * images.width;
  std::vector<float> values(blob.elements());
  for (std::size_t n = 0; n < images.batch; ++n) {
    for (std::size_t p = 0; p < pixels; ++p) {
      for (std::size_t c = 0; c < images.channels; ++c) {
        values[(n * images.channels + c) * pixels + p] =
            blob.data[(n * pixels + p) * blob.stride + c];
      }
    }
  }
  return values;
}

void GoldenNet::FromFileOrder(std::span<const float> values, const nn::Blob& blob) {
  const nn::ImageShape images = nn::AsImages(blob.shape);
  const std::size_t pixels = images.height * images.width;
  for (std::size_t n = 0; n < images.batch; ++n) {
    for (std::size_t p = 0; p < pixels; ++p) {
      for (std::size_t c = 0; c < images.channels; ++c) {
        blob.data[(n * pixels + p) * blob.stride + c] =
            values[(n * images.channels + c) * pixels + p];
      }
    }
  }
}

double RelativeError(std::span<const float> got, std::span<const double> want) {
  EXPECT_EQ(got.size(), want.size());
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
    error += (got[i] - want[i]) * (got[i] - want[i]);
    norm += want[i] * want[i];
  }
  return std::sqrt(error) / std::max(std::sqrt(norm), 1e-6);
}

}  // namespace shoal::golden
