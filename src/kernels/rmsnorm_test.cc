#include "kernels/rmsnorm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/kernel_testing.h"

namespace shoal::kernels {
namespace {

constexpr float kEpsilon = 1e-5F;

TEST(RmsNormTest, MatchesTheFormulaInDouble) {
  Serial serial;
  for (const std::size_t n : AwkwardLengths()) {
    if (n == 0) continue;
    const std::vector<float> x = PlainFloats(2 * n, n);
    const std::vector<float> weight = PlainFloats(n, n + 1);
    std::vector<float> y(2 * n);
    RmsNorm(x, weight, kEpsilon, y, serial);
    for (std::size_t row = 0; row < 2; ++row) {
      double squares = 0;
      for (std::size_t i = 0; i < n; ++i) {
        squares += static_cast<double>(x[row * n + i]) * x[row * n + i];
      }
      const double scale = 1 / std::sqrt(squares / static_cast<double>(n) + kEpsilon);
      for (std::size_t i = 0; i < n; ++i) {
        const double want = x[row * n + i] * scale * weight[i];
        // Half of the sum's error, (n/16 + 5) half-ulps, and five roundings.
        const double relative = (static_cast<double>(n) / 32 + 8) * 0x1p-24;
        EXPECT_NEAR(y[row * n + i], want, std::fabs(want) * relative) << n;
      }
    }
  }
}

TEST(RmsNormTest, ARowOfZerosStaysZero) {
  Serial serial;
  std::vector<float> y(8, 0.0F);
  RmsNorm(y, std::vector<float>(8, 2.0F), kEpsilon, y, serial);
  EXPECT_EQ(y, std::vector<float>(8, 0.0F));
}

TEST(RmsNormTest, EveryTargetGivesTheSameBits) {
  for (const bool awkward : {false, true}) {
    ExpectSameBitsEverywhere(
        [&](std::size_t n, Parallel& parallel, Target target) {
          std::vector<float> y = awkward ? AwkwardFloats(5 * n, n) : PlainFloats(5 * n, n);
          if (n > 0) RmsNorm(y, PlainFloats(n, n + 1), kEpsilon, y, parallel, target);
          return y;
        },
        8200);
  }
}

}  // namespace
}  // namespace shoal::kernels
