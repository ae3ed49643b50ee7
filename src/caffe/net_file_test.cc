#include "caffe/net_file.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

namespace shoal::caffe {
namespace {

using nn::Phase;

constexpr char kLenet[] = R"(
name: "LeNet"
layer {
  name: "mnist" type: "Data" top: "data" top: "label"
  include { phase: TRAIN }
  transform_param { scale: 0.00390625 mirror: true crop_size: 24 mean_value: 104 mean_value: 117 }
  data_param { source: "train_lmdb" batch_size: 64 backend: LMDB rand_skip: 3 prefetch: 2 }
}
layer {
  name: "mnist" type: "Data" top: "data" top: "label"
  include { phase: TEST }
  data_param { source: "test_lmdb" batch_size: 100 backend: LMDB }
}
layer {
  name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  param { lr_mult: 1 name: "w" share_mode: PERMISSIVE }
  param { lr_mult: 2 decay_mult: 0 }
  convolution_param {
    num_output: 20 kernel_size: 5 stride: 1 engine: CAFFE
    weight_filler { type: "xavier" variance_norm: AVERAGE }
    bias_filler { type: "constant" value: 0.5 }
  }
}
layer {
  name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 }
}
layer {
  name: "ip1" type: "InnerProduct" bottom: "pool1" top: "ip1"
  inner_product_param { num_output: 10 }
}
layer { name: "relu1" type: "ReLU" bottom: "ip1" top: "ip1" }
layer {
  name: "accuracy" type: "Accuracy" bottom: "ip1" bottom: "label" top: "accuracy"
  include { phase: TEST }
  accuracy_param { top_k: 5 }
}
layer {
  name: "loss" type: "SoftmaxWithLoss" bottom: "ip1" bottom: "label" top: "loss"
  loss_weight: 0.3
}
)";

Result<Network> Build(std::string_view text, const BuildOptions& options = {}) {
  SHOAL_ASSIGN_OR_RETURN(const NetFile file, NetFile::Parse("net.prototxt", text));
  return file.Build(options);
}

Network MustBuild(std::string_view text, const BuildOptions& options = {}) {
  auto network = Build(text, options);
  EXPECT_TRUE(network.ok()) << network.status().ToString();
  return network.ok() ? *std::move(network) : Network();
}

template <class Op>
const Op& OpOf(const Network& network, std::string_view layer) {
  for (const auto& def : network.net.layers) {
    if (def.name == layer) return std::get<Op>(def.op);
  }
  ADD_FAILURE() << "no layer " << layer;
  static const Op kNone{};
  return kNone;
}

// A net around one layer: its input is "data" of 2 images.
std::string Around(const std::string& layer) {
  return "input: \"data\" input_shape { dim: 2 dim: 8 dim: 9 dim: 9 }\n" + layer;
}

TEST(NetFile, TrainPhaseHasItsLayersAndSource) {
  const Network network = MustBuild(kLenet);
  EXPECT_EQ(network.net.name, "LeNet");
  EXPECT_EQ(network.net.phase, Phase::kTrain);
  ASSERT_EQ(network.net.layers.size(), 6U);
  EXPECT_TRUE(std::get<nn::InputDef>(network.net.layers[0].op).shapes.empty());
  EXPECT_EQ(network.net.layers[0].tops, (std::vector<std::string>{"data", "label"}));
  ASSERT_EQ(network.sources.size(), 1U);
  const data::SourceDef& source = network.sources[0];
  EXPECT_EQ(source.layer, "mnist");
  EXPECT_EQ(source.batch, 64);
  EXPECT_EQ(source.data_top, "data");
  EXPECT_EQ(source.label_top, "label");
  EXPECT_EQ(std::get<data::LmdbDef>(source.from).path, "train_lmdb");
  EXPECT_EQ(std::get<data::LmdbDef>(source.from).rand_skip, 3);
  EXPECT_EQ(source.transform.scale, 0.00390625F);
  EXPECT_TRUE(source.transform.mirror);
  EXPECT_EQ(source.transform.crop, 24);
  EXPECT_EQ(source.transform.mean_values, (std::vector<float>{104, 117}));
  EXPECT_TRUE(network.warnings.empty());
}

TEST(NetFile, TestPhaseHasItsOwn) {
  const Network network = MustBuild(kLenet, {.phase = Phase::kTest});
  ASSERT_EQ(network.net.layers.size(), 7U);
  EXPECT_EQ(network.sources[0].batch, 100);
  EXPECT_EQ(OpOf<nn::AccuracyDef>(network, "accuracy").top_k, 5);
}

TEST(NetFile, ParametersOfLayers) {
  const Network network = MustBuild(kLenet);
  const auto& layer = network.net.layers[1];
  const auto& conv = std::get<nn::ConvolutionDef>(layer.op);
  EXPECT_EQ(conv.outputs, 20);
  EXPECT_EQ(conv.kernel, (std::array<std::int64_t, 2>{5, 5}));
  EXPECT_EQ(conv.weight_filler.kind, nn::Filler::Kind::kXavier);
  EXPECT_EQ(conv.weight_filler.variance, nn::Filler::Variance::kAverage);
  EXPECT_EQ(conv.bias_filler.value, 0.5F);
  ASSERT_EQ(layer.params.size(), 2U);
  EXPECT_EQ(layer.params[0].name, "w");
  EXPECT_TRUE(layer.params[0].permissive);
  EXPECT_EQ(layer.params[1].lr_mult, 2);
  EXPECT_EQ(layer.params[1].decay_mult, 0);
  EXPECT_EQ(network.net.layers.back().loss_weights, std::vector<float>{0.3F});
}

TEST(NetFile, ConvolutionSpellings) {
  const Network network = MustBuild(Around(R"(
    layer { name: "c" type: "Convolution" bottom: "data" top: "c" convolution_param {
      num_output: 8 group: 4 bias_term: false kernel_h: 1 kernel_w: 7 pad_w: 3 stride: 2 stride: 1
      dilation: 2 } }
    layer { name: "d" type: "DepthwiseConvolution" bottom: "c" top: "d" convolution_param {
      num_output: 8 kernel_size: 3 } })"));
  const auto& conv = OpOf<nn::ConvolutionDef>(network, "c");
  EXPECT_EQ(conv.kernel, (std::array<std::int64_t, 2>{1, 7}));
  EXPECT_EQ(conv.pad, (std::array<std::int64_t, 2>{0, 3}));
  EXPECT_EQ(conv.stride, (std::array<std::int64_t, 2>{2, 1}));
  EXPECT_EQ(conv.dilation, (std::array<std::int64_t, 2>{2, 2}));
  EXPECT_EQ(conv.groups, 4);
  EXPECT_FALSE(conv.bias);
  EXPECT_EQ(OpOf<nn::ConvolutionDef>(network, "d").groups, 8);
}

TEST(NetFile, PoolingSpellings) {
  const Network network = MustBuild(Around(R"(
    layer { name: "p" type: "Pooling" bottom: "data" top: "p"
      pooling_param { pool: AVE kernel_h: 3 kernel_w: 2 stride_h: 2 stride_w: 1 pad: 1
                      round_mode: FLOOR } }
    layer { name: "g" type: "Pooling" bottom: "p" top: "g"
      pooling_param { pool: AVE global_pooling: true } })"));
  const auto& pool = OpOf<nn::PoolingDef>(network, "p");
  EXPECT_EQ(pool.method, nn::PoolingDef::Method::kAverage);
  EXPECT_EQ(pool.kernel, (std::array<std::int64_t, 2>{3, 2}));
  EXPECT_EQ(pool.stride, (std::array<std::int64_t, 2>{2, 1}));
  EXPECT_EQ(pool.pad, (std::array<std::int64_t, 2>{1, 1}));
  EXPECT_FALSE(pool.ceil);
  EXPECT_TRUE(OpOf<nn::PoolingDef>(network, "g").global);
}

TEST(NetFile, TheOtherLayers) {
  const Network network = MustBuild(Around(R"(
    layer { name: "lrn" type: "LRN" bottom: "data" top: "lrn"
      lrn_param { local_size: 3 alpha: 0.1 beta: 0.5 k: 2 norm_region: WITHIN_CHANNEL } }
    layer { name: "bn" type: "BatchNorm" bottom: "lrn" top: "lrn" batch_norm_param { eps: 1e-3 } }
    layer { name: "scale" type: "Scale" bottom: "lrn" top: "lrn" scale_param { bias_term: true } }
    layer { name: "bias" type: "Bias" bottom: "lrn" top: "lrn" bias_param { num_axes: -1 } }
    layer { name: "leaky" type: "ReLU" bottom: "lrn" top: "lrn" relu_param { negative_slope: 0.1 } }
    layer { name: "six" type: "ReLU6" bottom: "lrn" top: "lrn" }
    layer { name: "clip" type: "Clip" bottom: "lrn" top: "lrn" clip_param { min: 0 max: 4 } }
    layer { name: "sigmoid" type: "Sigmoid" bottom: "lrn" top: "lrn" }
    layer { name: "tanh" type: "TanH" bottom: "lrn" top: "lrn" }
    layer { name: "drop" type: "Dropout" bottom: "lrn" top: "lrn"
      dropout_param { dropout_ratio: 0.25 } }
    layer { name: "split" type: "Split" bottom: "lrn" top: "a" top: "b" }
    layer { name: "sum" type: "Eltwise" bottom: "a" bottom: "b" top: "sum"
      eltwise_param { coeff: 1 coeff: -1 } }
    layer { name: "max" type: "Eltwise" bottom: "a" bottom: "b" top: "max"
      eltwise_param { operation: MAX } }
    layer { name: "concat" type: "Concat" bottom: "sum" bottom: "max" top: "concat"
      concat_param { concat_dim: 2 } }
    layer { name: "slice" type: "Slice" bottom: "concat" top: "s1" top: "s2"
      slice_param { axis: 2 slice_point: 9 } }
    layer { name: "reshape" type: "Reshape" bottom: "s1" top: "r"
      reshape_param { shape { dim: 0 dim: -1 } } }
    layer { name: "flatten" type: "Flatten" bottom: "s2" top: "f" }
    layer { name: "softmax" type: "Softmax" bottom: "f" top: "prob" softmax_param { axis: -1 } }
    layer { name: "l2" type: "EuclideanLoss" bottom: "r" bottom: "f" top: "l2" }
    layer { name: "silence" type: "Silence" bottom: "prob" })"));
  EXPECT_EQ(OpOf<nn::LrnDef>(network, "lrn").region, nn::LrnDef::Region::kWithinChannel);
  EXPECT_EQ(OpOf<nn::LrnDef>(network, "lrn").k, 2);
  EXPECT_EQ(OpOf<nn::BatchNormDef>(network, "bn").eps, 1e-3F);
  EXPECT_EQ(OpOf<nn::ScaleDef>(network, "scale").filler.value, 1);
  EXPECT_EQ(OpOf<nn::BiasDef>(network, "bias").num_axes, -1);
  EXPECT_EQ(OpOf<nn::ReluDef>(network, "leaky").negative_slope, 0.1F);
  EXPECT_EQ(OpOf<nn::ReluDef>(network, "six").max, 6.0F);
  EXPECT_EQ(OpOf<nn::ReluDef>(network, "clip").max, 4.0F);
  EXPECT_EQ(OpOf<nn::DropoutDef>(network, "drop").ratio, 0.25F);
  EXPECT_EQ(OpOf<nn::EltwiseDef>(network, "sum").coefficients, (std::vector<float>{1, -1}));
  EXPECT_EQ(OpOf<nn::EltwiseDef>(network, "max").operation, nn::EltwiseDef::Operation::kMax);
  EXPECT_EQ(OpOf<nn::ConcatDef>(network, "concat").axis, 2);
  EXPECT_EQ(OpOf<nn::SliceDef>(network, "slice").points, std::vector<std::int64_t>{9});
  EXPECT_EQ(OpOf<nn::ReshapeDef>(network, "reshape").dims, (std::vector<std::int64_t>{0, -1}));
  EXPECT_EQ(OpOf<nn::SoftmaxDef>(network, "softmax").axis, -1);
}

TEST(NetFile, LossNormalizations) {
  const auto normalization = [](const std::string& param) {
    const Network network = MustBuild(
        Around("layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 'data' bottom: 'data' top: 'l' " +
               param + "}"));
    return OpOf<nn::SoftmaxLossDef>(network, "l").normalization;
  };
  EXPECT_EQ(normalization(""), nn::Normalization::kValid);
  EXPECT_EQ(normalization("loss_param { normalize: false }"), nn::Normalization::kBatchSize);
  EXPECT_EQ(normalization("loss_param { normalize: true }"), nn::Normalization::kValid);
  EXPECT_EQ(normalization("loss_param { normalization: FULL normalize: false }"),
            nn::Normalization::kFull);
  EXPECT_EQ(normalization("loss_param { normalization: NONE }"), nn::Normalization::kNone);
}

TEST(NetFile, ImageAndMemoryData) {
  const Network network = MustBuild(R"(
    layer { name: "images" type: "ImageData" top: "data" top: "label"
      transform_param { mean_file: "mean.binaryproto" }
      image_data_param { source: "list.txt" root_folder: "img/" new_height: 32 new_width: 48
                         shuffle: true is_color: false batch_size: 7 } }
    layer { name: "memory" type: "MemoryData" top: "m" top: "n"
      memory_data_param { batch_size: 2 channels: 3 height: 4 width: 5 } })");
  const auto& list = std::get<data::ImageListDef>(network.sources[0].from);
  EXPECT_EQ(list.path, "list.txt");
  EXPECT_EQ(list.root_folder, "img/");
  EXPECT_EQ(list.new_width, 48);
  EXPECT_TRUE(list.shuffle);
  EXPECT_FALSE(list.color);
  EXPECT_EQ(network.sources[0].transform.mean_file, "mean.binaryproto");
  EXPECT_EQ(std::get<data::MemoryDef>(network.sources[1].from).width, 5);
}

TEST(NetFile, RulesOfLevelsAndStages) {
  const std::string text = Around(R"(
    layer { name: "low" type: "ReLU" bottom: "data" top: "a" include { max_level: 1 } }
    layer { name: "high" type: "ReLU" bottom: "data" top: "b" include { min_level: 2 } }
    layer { name: "both" type: "ReLU" bottom: "data" top: "c" include { stage: "x" stage: "y" } }
    layer { name: "not" type: "ReLU" bottom: "data" top: "d" include { not_stage: "x" } }
    layer { name: "or" type: "ReLU" bottom: "data" top: "e"
      include { phase: TEST } include { stage: "y" } }
    layer { name: "ex" type: "ReLU" bottom: "data" top: "f" exclude { phase: TRAIN stage: "x" } }
  )");
  const auto names = [&](const NetState& state) {
    std::string list;
    const Network network = MustBuild(text, {.state = state});
    for (const auto& layer : network.net.layers) list += layer.name + " ";
    return list;
  };
  EXPECT_EQ(names({}), "input low not ex ");
  EXPECT_EQ(names({.level = 2}), "input high not ex ");
  EXPECT_EQ(names({.stages = {"x"}}), "input low ");
  EXPECT_EQ(names({.stages = {"y", "x"}}), "input low both or ");
  EXPECT_EQ(names({.phase = Phase::kTest}), "input low not or ex ");
  // What the file says of itself comes between.
  const Network own = MustBuild("state { phase: TEST level: 3 }" + text);
  EXPECT_EQ(own.net.phase, Phase::kTest);
  EXPECT_EQ(own.net.layers[1].name, "high");
}

TEST(NetFile, UseGlobalStatsInTraining) {
  const std::string text = Around(
      "layer { name: 'bn' type: 'BatchNorm' bottom: 'data' top: 'bn'\n"
      "  batch_norm_param { use_global_stats: true } param { lr_mult: 1 } }");
  const auto refused = Build(text);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("net.prototxt:2: layer \"bn\": use_global_stats"),
            std::string::npos)
      << refused.status().message();
  const Network stripped = MustBuild(text, {.global_stats = GlobalStats::kStrip});
  EXPECT_FALSE(OpOf<nn::BatchNormDef>(stripped, "bn").use_global_stats.has_value());
  EXPECT_EQ(stripped.warnings.size(), 1U);
  const Network kept = MustBuild(text, {.global_stats = GlobalStats::kKeep});
  EXPECT_EQ(OpOf<nn::BatchNormDef>(kept, "bn").use_global_stats, true);
  const Network test = MustBuild(text, {.phase = Phase::kTest});
  EXPECT_EQ(OpOf<nn::BatchNormDef>(test, "bn").use_global_stats, true);
  // Statistics never learn.
  ASSERT_EQ(test.net.layers[1].params.size(), 3U);
  for (const auto& param : test.net.layers[1].params) EXPECT_EQ(param.lr_mult, 0);
}

TEST(NetFile, ForkFieldsAreReportedAndIgnored) {
  const auto file = NetFile::Parse("net.prototxt", Around(R"(engine: "MKLDNN"
    layer { name: "c" type: "Convolution" bottom: "data" top: "c" forward_type: FLOAT16
      quantization_param { bw_params: 8 } convolution_param { num_output: 1 kernel_size: 1 } })"));
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  ASSERT_EQ(file->warnings().size(), 3U);
  EXPECT_EQ(file->warnings()[0], "net.prototxt:2:1: engine in NetParameter is ignored");
  EXPECT_TRUE(file->Build({}).ok());
}

TEST(NetFile, ScaleInsideABatchNormIsALayer) {
  const Network network = MustBuild(Around(
      "layer { name: 'bn' type: 'BatchNorm' bottom: 'data' top: 'bn'\n"
      "  param { lr_mult: 1 } param { } param { } param { lr_mult: 3 } param { decay_mult: 0 }\n"
      "  batch_norm_param { scale_bias: true scale_filler { value: 2 } } }"));
  ASSERT_EQ(network.net.layers.size(), 3U);
  EXPECT_EQ(network.net.layers[1].params.size(), 3U);
  const nn::LayerDef& scale = network.net.layers[2];
  EXPECT_EQ(scale.name, "bn/scale_bias");
  EXPECT_EQ(scale.bottoms, scale.tops);
  EXPECT_EQ(std::get<nn::ScaleDef>(scale.op).filler.value, 2);
  EXPECT_TRUE(std::get<nn::ScaleDef>(scale.op).bias);
  ASSERT_EQ(scale.params.size(), 2U);
  EXPECT_EQ(scale.params[0].lr_mult, 3);
  EXPECT_EQ(scale.params[1].decay_mult, 0);
}

TEST(NetFile, ByteOrderMarkAndWindowsLineEnds) {
  EXPECT_TRUE(Build("\xEF\xBB\xBF" + Around("layer {\r\n name: 'r' type: 'ReLU'\r\n"
                                            " bottom: 'data' top: 'r' }\r\n"))
                  .ok());
}

}  // namespace
}  // namespace shoal::caffe
