#include "kernels/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "kernels/rows_testing.h"

namespace shoal::kernels {
namespace {

struct Activation {
  const char* name;
  std::function<void(ConstRows, Rows, Parallel&, Target)> forward;
  std::function<void(ConstRows, ConstRows, Rows, bool, Parallel&, Target)> backward;
  std::function<double(double)> value;
  std::function<double(double)> slope;
};

Activation Relu(const char* name, ReluParams params) {
  return {name,
          [=](ConstRows x, Rows y, Parallel& parallel, Target target) {
            ReluRows(params, x, y, parallel, target);
          },
          [=](ConstRows y, ConstRows dy, Rows dx, bool accumulate, Parallel& parallel,
              Target target) { ReluRowsBackward(params, y, dy, dx, accumulate, parallel, target); },
          [=](double x) {
            return x > 0 ? std::min(x, static_cast<double>(params.max))
                         : x * static_cast<double>(params.slope);
          },
          [=](double x) {
            if (x <= 0) return static_cast<double>(params.slope);
            return x < static_cast<double>(params.max) ? 1.0 : 0.0;
          }};
}

std::vector<Activation> Activations() {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  return {Relu("relu", {}),
          Relu("leaky", {.slope = 0.1F}),
          Relu("relu6", {.max = 0.75F}),
          {"sigmoid", SigmoidRows, SigmoidRowsBackward, sigmoid,
           [=](double x) { return sigmoid(x) * (1 - sigmoid(x)); }},
          {"tanh", TanhRows, TanhRowsBackward, [](double x) { return std::tanh(x); },
           [](double x) { return 1 - std::tanh(x) * std::tanh(x); }}};
}

TEST(ActivationTest, ValuesAndGradientsMatchDouble) {
  Serial serial;
  for (const Target target : SupportedTargets()) {
    for (const Activation& activation : Activations()) {
      for (const std::size_t gap : {0U, 3U}) {
        for (const std::size_t channels : {1U, 7U, 16U, 37U}) {
          SCOPED_TRACE(testing::Message() << target << " " << activation.name << channels);
          const TestRows x(5, channels, gap, 1);
          const TestRows dy(5, channels, gap, 2);
          TestRows y(5, channels, gap, 3);
          activation.forward(x.get(), y.get(), serial, target);
          ExpectRowsNear(
              y, [&](std::size_t i, std::size_t c) { return activation.value(double{x.at(i, c)}); },
              1e-6);
          TestRows in_place = dy;
          activation.backward(y.get(), in_place.get(), in_place.get(), false, serial, target);
          TestRows added(5, channels, gap, 4);
          const TestRows before = added;
          activation.backward(y.get(), dy.get(), added.get(), true, serial, target);
          const auto want = [&](std::size_t i, std::size_t c) {
            return activation.slope(double{x.at(i, c)}) * double{dy.at(i, c)};
          };
          ExpectRowsNear(in_place, want, 2e-6);
          ExpectRowsNear(
              added,
              [&](std::size_t i, std::size_t c) { return want(i, c) + double{before.at(i, c)}; },
              2e-6);
        }
      }
    }
  }
}

TEST(ActivationTest, ReluKeepsNaN) {
  Serial serial;
  for (const Target target : SupportedTargets()) {
    std::vector<float> x(9, std::numeric_limits<float>::quiet_NaN());
    ReluRows({.max = 6}, DenseRows(std::span<const float>(x), 9), DenseRows(std::span<float>(x), 9),
             serial, target);
    for (const float value : x) EXPECT_TRUE(std::isnan(value)) << target;
  }
}

TEST(ActivationTest, ResultsDoNotDependOnTheWorkers) {
  const TestRows x(700, 70, 3, 1);
  ExpectSameBitsWithAnyWorkers([&](Parallel& parallel) {
    TestRows y = x;
    SigmoidRows(y.get(), y.get(), parallel);
    TanhRowsBackward(y.get(), x.get(), y.get(), true, parallel);
    return y.data();
  });
}

}  // namespace
}  // namespace shoal::kernels
