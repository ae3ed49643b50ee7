// Files as people wrote them before 2015.
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "caffe/net_file.h"

namespace shoal::caffe {
namespace {

Network MustBuild(std::string_view text, nn::Phase phase = nn::Phase::kTrain) {
  const auto file = NetFile::Parse("old.prototxt", text);
  EXPECT_TRUE(file.ok()) << file.status().ToString();
  if (!file.ok()) return {};
  auto network = file->Build({.phase = phase});
  EXPECT_TRUE(network.ok()) << network.status().ToString();
  return network.ok() ? *std::move(network) : Network();
}

TEST(Legacy, V1LayersWithEnumeratedTypes) {
  const Network network = MustBuild(R"(
    layers { name: "d" type: DATA top: "data" top: "label" include: { phase: TRAIN }
      data_param { source: "db" batch_size: 10 scale: 0.5 mirror: true crop_size: 20
                   mean_file: "mean" backend: LMDB } }
    layers { name: "conv" type: CONVOLUTION bottom: "data" top: "conv"
      blobs_lr: 1 blobs_lr: 2 weight_decay: 1 weight_decay: 0 param: "w"
      convolution_param { num_output: 4 kernel_size: 3 pad: 1 } }
    layers { name: "relu" type: RELU bottom: "conv" top: "conv" }
    layers { name: "lrn" type: LRN bottom: "conv" top: "lrn" }
    layers { name: "fc" type: INNER_PRODUCT bottom: "lrn" top: "fc"
      inner_product_param { num_output: 5 } }
    layers { name: "loss" type: SOFTMAX_LOSS bottom: "fc" bottom: "label" }
  )");
  ASSERT_EQ(network.net.layers.size(), 6U);
  const data::TransformDef& transform = network.sources[0].transform;
  EXPECT_EQ(transform.scale, 0.5F);
  EXPECT_TRUE(transform.mirror);
  EXPECT_EQ(transform.crop, 20);
  EXPECT_EQ(transform.mean_file, "mean");
  const nn::LayerDef& conv = network.net.layers[1];
  EXPECT_EQ(std::get<nn::ConvolutionDef>(conv.op).pad[1], 1);
  ASSERT_EQ(conv.params.size(), 2U);
  EXPECT_EQ(conv.params[0].name, "w");
  EXPECT_EQ(conv.params[1].lr_mult, 2);
  EXPECT_EQ(conv.params[1].decay_mult, 0);
  EXPECT_EQ(network.net.layers[5].tops, std::vector<std::string>{"loss"});
}

TEST(Legacy, V0LayersInLayers) {
  const Network network = MustBuild(R"(
    name: "CaffeNet"
    input: "data" input_dim: 10 input_dim: 3 input_dim: 227 input_dim: 227
    layers { layer { name: "pad1" type: "padding" pad: 2 } bottom: "data" top: "pad1" }
    layers { layer { name: "conv1" type: "conv" num_output: 96 kernelsize: 11 stride: 4 group: 2
        biasterm: false weight_filler { type: "gaussian" std: 0.01 } blobs_lr: 1. blobs_lr: 2. }
      bottom: "pad1" top: "conv1" }
    layers { layer { name: "pool1" type: "pool" pool: AVE kernelsize: 3 stride: 2 }
      bottom: "conv1" top: "pool1" }
    layers { layer { name: "drop" type: "dropout" dropout_ratio: 0.3 }
      bottom: "pool1" top: "pool1" }
    layers { layer { name: "fc" type: "innerproduct" num_output: 7 } bottom: "pool1" top: "fc" }
    layers { layer { name: "prob" type: "softmax" } bottom: "fc" top: "prob" }
  )",
                                    nn::Phase::kTest);
  ASSERT_EQ(network.net.layers.size(), 6U);
  EXPECT_EQ(std::get<nn::InputDef>(network.net.layers[0].op).shapes[0],
            (std::vector<std::int64_t>{10, 3, 227, 227}));
  const auto& conv = std::get<nn::ConvolutionDef>(network.net.layers[1].op);
  EXPECT_EQ(conv.outputs, 96);
  EXPECT_EQ(conv.kernel[0], 11);
  EXPECT_EQ(conv.pad[0], 2);
  EXPECT_EQ(conv.groups, 2);
  EXPECT_FALSE(conv.bias);
  EXPECT_EQ(conv.weight_filler.std, 0.01F);
  EXPECT_EQ(network.net.layers[1].bottoms, std::vector<std::string>{"data"});
  EXPECT_EQ(network.net.layers[1].params[1].lr_mult, 2);
  EXPECT_EQ(std::get<nn::PoolingDef>(network.net.layers[2].op).method,
            nn::PoolingDef::Method::kAverage);
  EXPECT_EQ(std::get<nn::DropoutDef>(network.net.layers[3].op).ratio, 0.3F);
  EXPECT_EQ(std::get<nn::InnerProductDef>(network.net.layers[4].op).outputs, 7);
}

TEST(Legacy, SeveralInputs) {
  const Network network = MustBuild(R"(
    input: "a" input: "b" input_dim: 1 input_dim: 2 input_dim: 3 input_dim: 4
    input_dim: 5 input_dim: 6 input_dim: 7 input_dim: 8
    layer { name: "s" type: "Silence" bottom: "a" bottom: "b" })");
  const auto& input = std::get<nn::InputDef>(network.net.layers[0].op);
  EXPECT_EQ(input.shapes[1], (std::vector<std::int64_t>{5, 6, 7, 8}));
}

TEST(Legacy, LinesAreThoseOfTheText) {
  const auto file = NetFile::Parse("old.prototxt", "\n\nlayers { name: 'x' type: MVN }");
  ASSERT_TRUE(file.ok());
  const auto network = file->Build({});
  ASSERT_FALSE(network.ok());
  EXPECT_TRUE(network.status().message().starts_with(
      "old.prototxt:3: layer \"x\": type \"MVN\" is not supported; supported are Accuracy, "))
      << network.status().message();
}

TEST(Legacy, MissingBackendMeansLevelDbButLoads) {
  const Network network = MustBuild(R"(
    layers { name: "d" type: DATA top: "data" data_param { source: "db" batch_size: 10 } })");
  ASSERT_EQ(network.warnings.size(), 1U);
  EXPECT_EQ(network.warnings[0],
            "old.prototxt:2: layer \"d\": backend is LEVELDB by default; the source is opened as "
            "LMDB");
}

}  // namespace
}  // namespace shoal::caffe
