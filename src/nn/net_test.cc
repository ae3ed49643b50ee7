// Goal: what a network computes does not depend on how it is planned; and it says what is wrong.
#include "nn/net.h"

#include <gtest/gtest.h>

#include "nn/links.h"
#include "nn/net_testing.h"

namespace shoal::nn {
namespace {

OpDef Conv(std::int64_t outputs, std::int64_t kernel) {
  return ConvolutionDef{.outputs = outputs,
                        .kernel = {kernel, kernel},
                        .pad = {kernel / 2, kernel / 2},
                        .weight_filler = {.kind = Filler::Kind::kMsra},
                        .bias_filler = kNoise};
}

// A residual block, a Concat of branches, pooling, everything that planning touches.
NetDef Everything() {
  NetDef net{.name = "everything"};
  auto add = [&](std::string name, OpDef op, std::vector<std::string> bottoms,
                 std::vector<std::string> tops) {
    net.layers.push_back(
        Layer(std::move(name), std::move(op), std::move(bottoms), std::move(tops)));
  };
  net.layers.push_back(Input("data", {3, 3, 12, 12}));
  net.layers.push_back(Input("label", {3}));
  add("conv1", Conv(8, 3), {"data"}, {"conv1"});
  add("bn1", BatchNormDef{}, {"conv1"}, {"conv1"});
  add("scale1", ScaleDef{.bias = true}, {"conv1"}, {"conv1"});
  add("relu1", ReluDef{}, {"conv1"}, {"conv1"});
  add("pool1", PoolingDef{.kernel = {3, 3}, .stride = {2, 2}}, {"conv1"}, {"pool1"});
  add("conv2a", Conv(4, 1), {"pool1"}, {"conv2a"});
  add("bn2a", BatchNormDef{}, {"conv2a"}, {"conv2a"});
  add("scale2a", ScaleDef{.bias = true}, {"conv2a"}, {"conv2a"});
  add("relu2a", ReluDef{}, {"conv2a"}, {"conv2a"});
  add("conv2b", Conv(8, 3), {"conv2a"}, {"conv2b"});
  add("bn2b", BatchNormDef{}, {"conv2b"}, {"conv2b"});
  add("scale2b", ScaleDef{.bias = true}, {"conv2b"}, {"conv2b"});
  add("sum2", EltwiseDef{}, {"pool1", "conv2b"}, {"sum2"});
  add("relu2", ReluDef{}, {"sum2"}, {"sum2"});
  add("left", Conv(4, 1), {"sum2"}, {"left"});
  add("relu_left", ReluDef{}, {"left"}, {"left"});
  add("right", Conv(6, 3), {"sum2"}, {"right"});
  add("relu_right", ReluDef{}, {"right"}, {"right"});
  add("middle", PoolingDef{.kernel = {3, 3}, .pad = {1, 1}}, {"sum2"}, {"middle"});
  add("concat", ConcatDef{}, {"left", "right", "middle"}, {"concat"});
  add("drop", DropoutDef{.ratio = 0.2F}, {"concat"}, {"concat"});
  add("pool3", PoolingDef{.method = PoolingDef::Method::kAverage, .global = true}, {"concat"},
      {"pool3"});
  add("fc", InnerProductDef{.outputs = 5, .weight_filler = kNoise}, {"pool3"}, {"fc"});
  add("loss", SoftmaxLossDef{}, {"fc", "label"}, {"loss"});
  return net;
}

// Wide values that are cheap to make from narrow ones, six times.
NetDef Wide() {
  NetDef net{.name = "wide"};
  net.layers.push_back(Input("data", {3, 4, 12, 12}));
  net.layers.push_back(Input("label", {3}));
  std::string from = "data";
  for (int i = 0; i < 6; ++i) {
    const std::string wide = "wide" + std::to_string(i);
    const std::string narrow = "narrow" + std::to_string(i);
    net.layers.push_back(Layer(wide, Conv(32, 1), {from}, {wide}));
    net.layers.push_back(Layer(wide + "_relu", ReluDef{}, {wide}, {wide}));
    net.layers.push_back(Layer(narrow, Conv(4, 3), {wide}, {narrow}));
    from = narrow;
  }
  net.layers.push_back(
      Layer("fc", InnerProductDef{.outputs = 5, .weight_filler = kNoise}, {from}, {"fc"}));
  net.layers.push_back(Layer("loss", SoftmaxLossDef{}, {"fc", "label"}, {"loss"}));
  return net;
}

struct Outcome {
  double loss = 0;
  std::vector<float> gradients = {};
  std::vector<float> values = {};  // Statistics are among them.
  std::size_t arena = 0;
};

Outcome Train(const NetDef& def, const NetOptions& options, int steps = 2) {
  TestNet test(def, options);
  Outcome outcome;
  for (int i = 0; i < steps; ++i) {
    FillApart(*test.net->blob("data"), 0.01F);
    const Blob labels = *test.net->blob("label");
    for (std::size_t k = 0; k < 3; ++k) labels.data[k] = static_cast<float>(k);
    outcome.loss = test.Loss();
    test.net->Backward(false);
  }
  outcome.gradients = test.Gradients();
  outcome.values = {test.params.values().begin(), test.params.values().end()};
  outcome.arena = test.net->arena_bytes();
  return outcome;
}

TEST(NetTest, FusingChangesOnlyRounding) {
  const Outcome fused = Train(Everything(), {.backward = true});
  const Outcome plain = Train(Everything(), {.backward = true, .fuse = false});
  EXPECT_NEAR(fused.loss, plain.loss, 1e-5);
  EXPECT_LT(fused.arena, plain.arena);
  // Parameters are wanted in the order of the links, which differs; their sums must not.
  double sums[2] = {0, 0};
  for (const float g : fused.gradients) sums[0] += static_cast<double>(g) * g;
  for (const float g : plain.gradients) sums[1] += static_cast<double>(g) * g;
  EXPECT_NEAR(sums[0], sums[1], 1e-4 * sums[0]);
}

TEST(NetTest, ABudgetIsKeptByRecomputingToTheSameBits) {
  const Outcome free = Train(Wide(), {.backward = true});
  const Outcome tight = Train(Wide(), {.backward = true, .bytes_max = free.arena * 2 / 3});
  EXPECT_LE(tight.arena, free.arena * 2 / 3);
  EXPECT_EQ(tight.loss, free.loss);
  EXPECT_EQ(tight.gradients, free.gradients);
  EXPECT_EQ(tight.values, free.values);
}

TEST(NetTest, ABudgetThatCannotBeKeptIsAnError) {
  ParamStore params;
  FirstSupported chooser;
  Serial serial;
  const auto net =
      Net::Build(Everything(), {.backward = true, .bytes_max = 1000}, params, chooser, serial);
  ASSERT_FALSE(net.ok());
  EXPECT_EQ(net.status().code(), Code::kResourceExhausted);
  EXPECT_NE(net.status().message().find("smaller batch"), std::string::npos);
}

TEST(NetTest, GradientsOfMicroBatchesAddUp) {
  TestNet test(Everything());
  const auto fill = [&] {
    FillApart(*test.net->blob("data"), 0.01F);
    std::fill_n(test.net->blob("label")->data, 3, 1.0F);
  };
  fill();
  test.Loss();
  test.net->Backward(false);
  const std::vector<float> once = test.Gradients();
  fill();
  test.Loss();
  test.net->Backward(true);
  const std::vector<float> twice = test.Gradients();
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_NEAR(twice[i], 2 * once[i], 1e-5 + 1e-4 * std::abs(once[i])) << i;
  }
}

TEST(NetTest, TheTestPhaseSharesParametersAndUsesTheModelsStatistics) {
  TestNet train(Everything());
  FillApart(*train.net->blob("data"), 0.01F);
  std::fill_n(train.net->blob("label")->data, 3, 1.0F);
  train.Loss();
  NetDef def = Everything();
  def.phase = Phase::kTest;
  const std::size_t before = train.params.size();
  Result<std::unique_ptr<Net>> test =
      Net::Build(def, {}, train.params, train.chooser, train.serial);
  ASSERT_TRUE(test.ok()) << test.status().ToString();
  ASSERT_TRUE(train.params.Allocate(1, false).ok());
  EXPECT_EQ(train.params.size(), before);
  FillApart(*(*test)->blob("data"), 0.01F);
  std::fill_n((*test)->blob("label")->data, 3, 1.0F);
  const Result<double> loss = (*test)->Forward(0);
  ASSERT_TRUE(loss.ok());
  EXPECT_TRUE(std::isfinite(*loss));
  EXPECT_LT((*test)->arena_bytes(), train.net->arena_bytes());
}

TEST(NetTest, LabelsThatAreNoClassesAreAnError) {
  TestNet test(Everything());
  FillApart(*test.net->blob("data"), 0.01F);
  std::fill_n(test.net->blob("label")->data, 3, 7.0F);
  const Result<double> loss = test.net->Forward(0);
  ASSERT_FALSE(loss.ok());
  EXPECT_NE(loss.status().message().find("'loss': 3 labels"), std::string::npos)
      << loss.status().message();
}

TEST(FuseTest, LayersThatBelongTogetherAreOneLink) {
  const NetDef net = Everything();
  Result<Links> links = LinkLayers(net);
  ASSERT_TRUE(links.ok());
  Fuse(*links);
  std::vector<std::string> names;
  for (const Link& link : links->links) {
    std::string name;
    for (const LayerDef* layer : link.layers) name += (name.empty() ? "" : "+") + layer->name;
    names.push_back(name);
  }
  const std::vector<std::string> want = {"data_input",
                                         "label_input",
                                         "conv1",
                                         "bn1+scale1+relu1",
                                         "pool1",
                                         "conv2a",
                                         "bn2a+scale2a+relu2a",
                                         "conv2b",
                                         "bn2b+scale2b+sum2+relu2",
                                         "left+relu_left",
                                         "right+relu_right",
                                         "middle",
                                         "concat",
                                         "drop",
                                         "pool3",
                                         "fc",
                                         "loss"};
  EXPECT_EQ(names, want);
}

TEST(NetTest, MistakesNameTheirLayer) {
  const struct {
    std::vector<LayerDef> layers;
    std::string says;
  } kCases[] = {
      {{}, "no layers"},
      {{Layer("a", ReluDef{}, {"x"}, {"y"})}, "'a': bottom 'x' is made by no layer"},
      {{Input("x", {1, 2, 3, 3}), Input("x", {1})}, "another layer has that name"},
      {{Input("x", {1, 2, 3, 3}), Layer("a", ReluDef{}, {"x"}, {"y"}),
        Layer("b", TanhDef{}, {"x"}, {"y"})},
       "'b': top 'y' is made by another layer"},
      {{Input("x", {1, 2, 3, 3}), Layer("a", EltwiseDef{}, {"x"}, {"y"})},
       "'a': has 1 bottoms, but needs at least 2"},
      {{Input("x", {1, 2, 3, 3}),
        Layer("a", ConvolutionDef{.outputs = 4, .kernel = {5, 5}}, {"x"}, {"y"})},
       "'a': the kernel (5) is larger than the padded image (3)"},
      {{Input("x", {1, 3, 8, 8}),
        Layer("a", ConvolutionDef{.outputs = 4, .kernel = {3, 3}, .groups = 2}, {"x"}, {"y"})},
       "'a': group 2 does not divide 3 channels"},
      {{Input("x", {1, 2, 3, 3}), Input("z", {1, 2, 3, 4}),
        Layer("a", EltwiseDef{}, {"x", "z"}, {"y"})},
       "'a': its inputs differ: [1, 2, 3, 3] and [1, 2, 3, 4]"},
      {{Input("x", {1, -2, 3, 3}), Layer("a", ReluDef{}, {"x"}, {"y"})}, "'x_input', top 'x'"},
      {{Layer("x_input", InputDef{}, {}, {"x"}), Layer("a", ReluDef{}, {"x"}, {"y"})},
       "its shape is not known"},
      {{Input("x", {1, 2, 3, 3}),
        Layer("a", InnerProductDef{.outputs = std::int64_t{1} << 40}, {"x"}, {"y"})},
       "'a': absurdly many weights"},
  };
  for (const auto& [layers, says] : kCases) {
    ParamStore params;
    FirstSupported chooser;
    Serial serial;
    const auto net = Net::Build({.name = "n", .layers = layers}, {}, params, chooser, serial);
    ASSERT_FALSE(net.ok()) << says;
    EXPECT_NE(net.status().message().find(says), std::string::npos) << net.status().message();
  }
}

}  // namespace
}  // namespace shoal::nn
