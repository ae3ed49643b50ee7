#include "kernels/softmax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/kernel_testing.h"

namespace shoal::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(SoftmaxTest, MatchesTheFormulaInDouble) {
  Serial serial;
  for (const std::size_t n : AwkwardLengths()) {
    if (n == 0) continue;
    std::vector<float> x = PlainFloats(n, n);
    for (float& value : x) value = std::fmod(value, 20.0F);
    std::vector<float> y(n);
    Softmax(x, n, y, serial);
    const double max = *std::max_element(x.begin(), x.end());
    double sum = 0;
    for (const float value : x) sum += std::exp(value - max);
    for (std::size_t i = 0; i < n; ++i) {
      const double want = std::exp(x[i] - max) / sum;
      // x - max is rounded to a float below 64 (2^-19), exp and the sum to a few ulp.
      EXPECT_NEAR(y[i], want, want * (0x1p-19 + static_cast<double>(n) * 0x1p-26)) << n;
    }
  }
}

TEST(SoftmaxTest, MaskedPlacesGetZeroAndRowsAreIndependent) {
  Serial serial;
  const std::vector<float> x = {0, -kInfinity, 0, 1000, 0, 0};
  std::vector<float> y(6);
  Softmax(x, 3, y, serial);
  EXPECT_EQ(y, (std::vector<float>{0.5F, 0, 0.5F, 1, 0, 0}));
}

TEST(SoftmaxTest, RowsWithoutADistributionAreNaN) {
  Serial serial;
  for (const float poison : {-kInfinity, kInfinity, -std::nanf("")}) {
    const std::vector<float> x(20, poison);
    std::vector<float> y(20);
    Softmax(x, 20, y, serial);
    for (const float value : y) EXPECT_EQ(std::bit_cast<std::uint32_t>(value), 0x7fc00000U);
  }
}

TEST(SoftmaxTest, EveryTargetGivesTheSameBits) {
  for (const bool awkward : {false, true}) {
    ExpectSameBitsEverywhere(
        [&](std::size_t n, Parallel& parallel, Target target) {
          std::vector<float> y = awkward ? AwkwardFloats(5 * n, n) : PlainFloats(5 * n, n);
          if (n > 0) Softmax(y, n, y, parallel, target);
          return y;
        },
        8200);
  }
}

}  // namespace
}  // namespace shoal::kernels
