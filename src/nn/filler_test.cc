#include "nn/filler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace shoal::nn {
namespace {

std::vector<float> Filled(const Filler& filler, const Shape& shape, std::uint64_t stream = 0) {
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  EXPECT_TRUE(Fill(filler, shape, 7, stream, values).ok());
  return values;
}

double Deviation(const std::vector<float>& values) {
  double sum = 0, squares = 0;
  for (const float value : values) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const auto n = static_cast<double>(values.size());
  return std::sqrt(squares / n - sum / n * sum / n);
}

TEST(FillerTest, XavierAndMsraFollowTheFan) {
  const Shape shape{64, 32, 3, 3};
  using Kind = Filler::Kind;
  using Variance = Filler::Variance;
  const std::vector<float> xavier = Filled({.kind = Kind::kXavier}, shape);
  const double limit = std::sqrt(3.0 / 288);
  const auto [least, most] = std::minmax_element(xavier.begin(), xavier.end());
  EXPECT_GE(*least, -limit);
  EXPECT_LE(*most, limit);
  EXPECT_NEAR(Deviation(xavier), limit / std::sqrt(3.0), 0.02 * limit);
  EXPECT_NEAR(Deviation(Filled({.kind = Kind::kMsra}, shape)), std::sqrt(2.0 / 288), 2e-3);
  EXPECT_NEAR(Deviation(Filled({.kind = Kind::kMsra, .variance = Variance::kFanOut}, shape)),
              std::sqrt(2.0 / 576), 2e-3);
  EXPECT_NEAR(Deviation(Filled({.kind = Kind::kMsra, .variance = Variance::kAverage}, shape)),
              std::sqrt(2.0 / 432), 2e-3);
}

TEST(FillerTest, TheNumbersAreAFunctionOfSeedAndStream) {
  const Filler filler{.kind = Filler::Kind::kGaussian, .std = 0.01F};
  EXPECT_EQ(Filled(filler, {10, 10}, 3), Filled(filler, {10, 10}, 3));
  EXPECT_NE(Filled(filler, {10, 10}, 3), Filled(filler, {10, 10}, 4));
}

TEST(FillerTest, OtherKinds) {
  EXPECT_EQ(Filled({.value = 0.2F}, {3}), std::vector<float>(3, 0.2F));
  const std::vector<float> ball = Filled({.kind = Filler::Kind::kPositiveUnitball}, {2, 50});
  EXPECT_NEAR(std::accumulate(ball.begin(), ball.begin() + 50, 0.0), 1, 1e-5);
  const std::vector<float> bilinear = Filled({.kind = Filler::Kind::kBilinear}, {1, 1, 4, 4});
  EXPECT_FLOAT_EQ(bilinear[0], 0.0625F);
  EXPECT_FLOAT_EQ(bilinear[5], 0.5625F);
  std::vector<float> values(6);
  EXPECT_FALSE(Fill({.kind = Filler::Kind::kBilinear}, {2, 3}, 0, 0, values).ok());
  const std::vector<float> sparse =
      Filled({.kind = Filler::Kind::kGaussian, .sparse = 5}, {50, 400});
  const auto zeros = std::count(sparse.begin(), sparse.end(), 0.0F);
  EXPECT_NEAR(static_cast<double>(zeros), 0.9 * 20000, 300);
}

}  // namespace
}  // namespace shoal::nn
