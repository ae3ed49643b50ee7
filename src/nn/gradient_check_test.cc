// Goal: the gradient of every op is the slope of its output, by its inputs and its parameters.
#include <gtest/gtest.h>

#include <functional>

#include "nn/net_testing.h"

namespace shoal::nn {
namespace {

constexpr double kStep = 1e-2;
constexpr double kTolerance = 2e-2;

// The slope of the loss by *x: differences of floats, so steps are wide and tolerances, too.
double Slope(TestNet& test, float* x, const std::function<void()>& refill) {
  refill();  // Blobs are overwritten by what comes later in a step.
  const float old = *x;
  double loss[2];
  for (int side = 0; side < 2; ++side) {
    refill();
    *x = old + static_cast<float>(side == 0 ? kStep : -kStep);
    loss[side] = test.Loss();
  }
  *x = old;
  return (loss[0] - loss[1]) / (2 * kStep);
}

void ExpectSlope(double gradient, double slope, const std::string& what) {
  EXPECT_NEAR(gradient, slope, kTolerance * std::max({1.0, std::abs(slope), std::abs(gradient)}))
      << what;
}

struct Case {
  friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

  std::string name;
  OpDef op;
  std::vector<std::vector<std::int64_t>> inputs = {{2, 4, 5, 6}};
  std::size_t tops = 1;
  std::vector<std::int64_t> labels = {};  // A second input that has no gradient.
  bool loss = false;                      // It is a loss itself.
};

NetDef MakeNet(const Case& c) {
  NetDef net{.name = c.name, .force_backward = true};
  LayerDef layer = Layer("op", c.op, {}, {});
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    net.layers.push_back(Input("x" + std::to_string(i), c.inputs[i]));
    layer.bottoms.push_back("x" + std::to_string(i));
  }
  if (!c.labels.empty()) {
    net.layers.push_back(Input("labels", c.labels));
    layer.bottoms.emplace_back("labels");
  }
  for (std::size_t i = 0; i < c.tops; ++i) layer.tops.push_back("y" + std::to_string(i));
  net.layers.push_back(layer);
  if (c.loss) return net;
  for (const std::string& top : layer.tops) {
    // Squares, so that every element has a slope of its own; the ones before it make the op's
    // output a value that is read twice.
    net.layers.push_back(Layer("double_" + top, EltwiseDef{.coefficients = {0.5F, 1.5F}},
                               {top, top}, {"sum_" + top}));
    net.layers.push_back(Layer("square_" + top,
                               EltwiseDef{.operation = EltwiseDef::Operation::kProduct},
                               {"sum_" + top, top}, {"square_" + top}));
    net.layers.back().loss_weights = {0.1F};
  }
  return net;
}

class GradientCheckTest : public testing::TestWithParam<Case> {};

TEST_P(GradientCheckTest, IsTheSlope) {
  const Case& c = GetParam();
  TestNet test(MakeNet(c));
  ASSERT_NE(test.net, nullptr);
  const std::vector<std::size_t> inputs = test.net->graph().inputs();
  std::vector<std::vector<float>> values;
  for (const std::size_t v : inputs) {
    const Blob blob = test.net->blob(v);
    if (test.net->graph().values()[v].name == "labels") {
      for (std::size_t i = 0; i < blob.elements(); ++i) blob.data[i] = static_cast<float>(i % 3);
    } else {
      FillApart(blob, 1.7F / static_cast<float>(blob.elements()) * 4);
    }
    values.emplace_back(blob.data, blob.data + blob.elements());
  }
  const auto refill = [&] {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::copy(values[i].begin(), values[i].end(), test.net->blob(inputs[i]).data);
    }
  };
  test.Loss();
  test.net->Backward(false);
  std::vector<std::vector<float>> gradients;
  for (const std::size_t v : inputs) {
    const Blob blob = test.net->gradient(v);
    gradients.emplace_back(blob.data, blob.data == nullptr ? nullptr : blob.data + blob.elements());
  }
  const std::vector<float> params = test.Gradients();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t k = 0; k < gradients[i].size(); k += 1 + gradients[i].size() / 23) {
      ExpectSlope(gradients[i][k], Slope(test, test.net->blob(inputs[i]).data + k, refill),
                  "input " + std::to_string(i) + "[" + std::to_string(k) + "]");
    }
  }
  for (std::size_t p = 0; p < test.params.size(); ++p) {
    if (!test.params[ParamId{p}].learnable()) continue;
    const std::size_t size = test.params.value(ParamId{p}).size();
    for (std::size_t k = 0; k < size; k += 1 + size / 23) {
      ExpectSlope(params[test.params[ParamId{p}].offset + k],
                  Slope(test, test.params.value(ParamId{p}).data() + k, refill),
                  "parameter " + std::to_string(p) + "[" + std::to_string(k) + "]");
    }
  }
}

const Case kCases[] = {
    {"convolution", ConvolutionDef{.outputs = 6,
                                   .kernel = {3, 2},
                                   .stride = {2, 1},
                                   .pad = {1, 0},
                                   .dilation = {1, 2},
                                   .groups = 2,
                                   .weight_filler = kNoise,
                                   .bias_filler = kNoise}},
    {"depthwise", ConvolutionDef{.outputs = 4,
                                 .bias = false,
                                 .kernel = {3, 3},
                                 .pad = {1, 1},
                                 .groups = 4,
                                 .weight_filler = kNoise}},
    {"inner_product", InnerProductDef{.outputs = 5, .weight_filler = kNoise}},
    {"max_pooling", PoolingDef{.kernel = {3, 3}, .stride = {2, 2}}},
    {"average_pooling", PoolingDef{.method = PoolingDef::Method::kAverage,
                                   .kernel = {3, 2},
                                   .stride = {2, 1},
                                   .pad = {1, 1}}},
    {"global_pooling", PoolingDef{.method = PoolingDef::Method::kAverage, .global = true}},
    {"lrn_across", LrnDef{.size = 3, .alpha = 0.3F}},
    {"lrn_within", LrnDef{.region = LrnDef::Region::kWithinChannel, .size = 3, .alpha = 0.3F}},
    {"batch_norm", BatchNormDef{.eps = 0.1F}},
    {"scale", ScaleDef{.bias = true, .filler = kNoise, .bias_filler = kNoise}},
    {"scale_by_input", ScaleDef{}, {{2, 4, 3, 3}, {4}}},
    {"scale_two_axes", ScaleDef{.axis = 1, .num_axes = 2, .bias = true, .filler = kNoise}},
    {"bias", BiasDef{.filler = kNoise}},
    {"relu", ReluDef{}},
    {"leaky_relu", ReluDef{.negative_slope = 0.3F}},
    {"relu6", ReluDef{.max = 1.3F}},
    {"sigmoid", SigmoidDef{}},
    {"tanh", TanhDef{}},
    {"dropout", DropoutDef{.ratio = 0.4F}},
    {"concat", ConcatDef{}, {{2, 4, 3, 3}, {2, 2, 3, 3}}},
    {"concat_images", ConcatDef{.axis = 0}, {{2, 4, 3, 3}, {1, 4, 3, 3}}},
    {"sum", EltwiseDef{.coefficients = {1, -2, 0.5F}}, {{2, 3, 2, 2}, {2, 3, 2, 2}, {2, 3, 2, 2}}},
    {"product",
     EltwiseDef{.operation = EltwiseDef::Operation::kProduct},
     {{2, 3, 2, 2}, {2, 3, 2, 2}, {2, 3, 2, 2}}},
    {"slice", SliceDef{.points = {1, 3}}, {{2, 4, 3, 3}}, 3},
    {"reshape", ReshapeDef{.dims = {0, 2, -1, 3}}, {{2, 4, 3, 3}}},
    {"flatten", FlattenDef{}, {{2, 4, 3, 3}}},
    {"softmax", SoftmaxDef{}, {{3, 5}}},
    {"softmax_loss", SoftmaxLossDef{.ignore_label = 1}, {{6, 4}}, 1, {6}, true},
    {"softmax_loss_of_pixels",
     SoftmaxLossDef{.normalization = Normalization::kBatchSize},
     {{2, 4, 2, 3}},
     1,
     {2, 1, 2, 3},
     true},
    {"euclidean_loss", EuclideanLossDef{}, {{2, 3, 2, 2}, {2, 3, 2, 2}}, 1, {}, true},
};

INSTANTIATE_TEST_SUITE_P(Ops, GradientCheckTest, testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace shoal::nn
