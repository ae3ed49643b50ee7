#include "kernels/dropout.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/rows_testing.h"

namespace shoal::kernels {
namespace {

// Ones through the mask: 0 where dropped.
std::vector<float> MaskOf(const DropoutMask& mask, std::size_t n, Target target = BestTarget()) {
  Serial serial;
  std::vector<float> y(n, 1.0F);
  const Rows rows = DenseRows(std::span<float>(y), n);
  Dropout(mask, rows, rows, false, serial, target);
  return y;
}

TEST(DropoutTest, DropsTheRatioAndKeepsTheMean) {
  for (const float ratio : {0.0F, 0.1F, 0.5F, 0.9F}) {
    constexpr std::size_t kCount = 100000;
    const std::vector<float> y = MaskOf({.ratio = ratio, .seed = 1, .iteration = 2}, kCount);
    std::size_t dropped = 0;
    for (const float value : y) {
      if (value == 0) ++dropped;
      ASSERT_TRUE(value == 0 || value == 1 / (1 - ratio));
    }
    // Six standard deviations.
    const double expected = static_cast<double>(ratio) * kCount;
    EXPECT_NEAR(static_cast<double>(dropped), expected,
                6 * std::sqrt(expected * (1 - static_cast<double>(ratio))) + 0.5);
  }
}

// The share of elements on which two masks agree, which is one half if they are unrelated.
double Agreement(const std::vector<float>& a, const std::vector<float>& b, std::size_t shift) {
  std::size_t same = 0;
  for (std::size_t i = 0; i + shift < a.size(); ++i) same += a[i + shift] == b[i] ? 1 : 0;
  return static_cast<double>(same) / static_cast<double>(a.size() - shift);
}

TEST(DropoutTest, MasksOfOtherNumbersAreUnrelated) {
  constexpr std::size_t kCount = 40000;
  const std::vector<float> mask = MaskOf({.seed = 1, .iteration = 1}, kCount);
  EXPECT_NEAR(Agreement(mask, MaskOf({.seed = 2, .iteration = 1}, kCount), 0), 0.5, 0.015);
  EXPECT_NEAR(Agreement(mask, MaskOf({.seed = 1, .iteration = 2}, kCount), 0), 0.5, 0.015);
  for (const std::size_t shift : {1U, 2U, 8U, 16U, 256U, 4096U}) {
    EXPECT_NEAR(Agreement(mask, mask, shift), 0.5, 0.015) << shift;
  }
}

TEST(DropoutTest, ForwardAndBackwardShareTheMask) {
  Serial serial;
  for (const Target target : SupportedTargets()) {
    const DropoutMask mask{.ratio = 0.4F, .seed = 5, .iteration = 6};
    const std::vector<float> factors = MaskOf(mask, 7 * 19, target);
    const TestRows dy(7, 19, 3, 1);
    const TestRows before(7, 19, 2, 2);
    for (const bool accumulate : {false, true}) {
      TestRows dx = before;
      Dropout(mask, dy.get(), dx.get(), accumulate, serial, target);
      ExpectRowsNear(
          dx,
          [&](std::size_t i, std::size_t c) {
            return double{dy.at(i, c)} * double{factors[i * 19 + c]} +
                   (accumulate ? double{before.at(i, c)} : 0.0);
          },
          1e-6);
    }
  }
}

TEST(DropoutTest, EveryTargetGivesTheSameBits) {
  ExpectSameBitsEverywhere(
      [](std::size_t n, Parallel& parallel, Target target) {
        std::vector<float> y = PlainFloats(5 * n, n);
        const Rows rows{y.data(), 5, n, n};
        Dropout({.ratio = 0.3F, .seed = n, .iteration = 7}, rows, rows, false, parallel, target);
        return y;
      },
      8200);
}

}  // namespace
}  // namespace shoal::kernels
