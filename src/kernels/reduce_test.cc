#include "kernels/reduce.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/kernel_testing.h"
#include "kernels/largest_magnitude.h"

namespace shoal::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Lanes and tree written out for 19 elements: what scalar_group.h promises, without its code.
TEST(ReduceTest, SumGoesBySixteenLanesAndATree) {
  const std::vector<float> x = PlainFloats(19, 1);
  std::vector<float> lane(x.begin(), x.begin() + 16);
  lane[0] += x[16];
  lane[1] += x[17];
  lane[2] += x[18];
  float eight[8];
  for (std::size_t j = 0; j < 8; ++j) eight[j] = lane[j] + lane[j + 8];
  float four[4];
  for (std::size_t j = 0; j < 4; ++j) four[j] = eight[j] + eight[j + 4];
  const float want = (four[0] + four[2]) + (four[1] + four[3]);
  for (const Target target : SupportedTargets()) EXPECT_EQ(Sum(x, target), want) << target;
}

TEST(ReduceTest, NothingSumsToZero) {
  EXPECT_EQ(Sum({}), 0);
  EXPECT_EQ(Dot({}, {}), 0);
  EXPECT_EQ(Max({}), -kInfinity);
}

// A lane adds n/16 terms one after the other, so the error is below (n/16 + 4) half-ulps of the
// sum of magnitudes.
TEST(ReduceTest, SumsAreAsAccurateAsTheirLanesAllow) {
  for (const std::size_t n : AwkwardLengths()) {
    const std::vector<float> x = PlainFloats(n, n);
    const std::vector<float> y = PlainFloats(n, n + 1);
    double sum = 0, sum_magnitude = 0, dot = 0, dot_magnitude = 0;
    for (std::size_t i = 0; i < n; ++i) {
      sum += x[i];
      sum_magnitude += std::fabs(x[i]);
      dot += static_cast<double>(x[i]) * y[i];
      dot_magnitude += std::fabs(static_cast<double>(x[i]) * y[i]);
    }
    const double relative = (static_cast<double>(n) / 16 + 5) * 0x1p-24;
    EXPECT_NEAR(Sum(x), sum, relative * sum_magnitude) << n;
    EXPECT_NEAR(Dot(x, y), dot, relative * dot_magnitude) << n;
  }
}

TEST(ReduceTest, MaxAndArgMaxAgreeOnTiesZerosAndNaN) {
  struct Case {
    std::vector<float> x;
    float max;
    std::size_t arg_max;
  };
  const Case cases[] = {{{3, 7, 7, 1}, 7, 1},
                        {{-0.0F, 0.0F}, 0.0F, 0},
                        {{-1, -0.0F}, 0.0F, 1},
                        {{1, kNaN, kInfinity, -kNaN}, kNaN, 1},
                        {{-kInfinity, -kInfinity}, -kInfinity, 0}};
  for (const Target target : SupportedTargets()) {
    for (const Case& c : cases) {
      const float max = Max(c.x, target);
      EXPECT_EQ(std::bit_cast<std::uint32_t>(max), std::bit_cast<std::uint32_t>(c.max)) << target;
      EXPECT_EQ(ArgMax(c.x, target), c.arg_max) << target;
    }
  }
}

TEST(ReduceTest, ArgMaxFindsEveryPlaceInEveryLength) {
  for (const Target target : SupportedTargets()) {
    for (std::size_t n = 1; n < 40; ++n) {
      for (std::size_t at = 0; at < n; ++at) {
        std::vector<float> x(n, -3.0F);
        x[at] = -2;
        x.back() = -2;  // A later equal must not win.
        ASSERT_EQ(ArgMax(x, target), at) << target << " n=" << n;
        x[at] = kNaN;
        ASSERT_EQ(ArgMax(x, target), at) << target << " n=" << n;
      }
    }
  }
}

std::vector<float> AllReductions(const std::vector<float>& x, const std::vector<float>& y,
                                 Target target) {
  std::vector<float> results = {Sum(x, target), Dot(x, y, target), SumOfSquares(x, target),
                                Max(x, target)};
  if (!x.empty()) results.push_back(static_cast<float>(ArgMax(x, target)));
  return results;
}

TEST(ReduceTest, EveryTargetGivesTheSameBits) {
  ExpectSameBitsEverywhere(
      [](std::size_t n, Parallel& /*parallel*/, Target target) {
        return AllReductions(PlainFloats(n, n), PlainFloats(n, n + 1), target);
      },
      4099);
  ExpectSameBitsEverywhere(
      [](std::size_t n, Parallel& /*parallel*/, Target target) {
        return AllReductions(AwkwardFloats(n, n), AwkwardFloats(n, n + 1), target);
      },
      4099);
}

TEST(LargestMagnitudeTest, SeesBothSigns) {
  std::vector<float> numbers(5000, -1);
  EXPECT_EQ(LargestMagnitude(numbers), 1.0F);
  numbers[4999] = -3;
  EXPECT_EQ(LargestMagnitude(numbers), 3.0F);
  numbers[0] = 4;
  EXPECT_EQ(LargestMagnitude(numbers), 4.0F);
  numbers[2500] = kNaN;
  EXPECT_TRUE(std::isnan(LargestMagnitude(numbers)));
  EXPECT_EQ(LargestMagnitude({}), 0.0F);
}

// Products that vanish leave -0 in a lane; adding the +0 that fills the group must be the same
// everywhere.
TEST(ReduceTest, VanishingProductsGiveTheSameZeroEverywhere) {
  for (std::size_t n = 1; n <= 33; ++n) {
    const std::vector<float> x(n, -1e-30F);
    const std::vector<float> y(n, 1e-30F);
    const float want = Dot(x, y, Target::kRef);
    for (const Target target : SupportedTargets()) {
      EXPECT_EQ(std::signbit(Dot(x, y, target)), std::signbit(want)) << target << " n=" << n;
    }
  }
}

}  // namespace
}  // namespace shoal::kernels
