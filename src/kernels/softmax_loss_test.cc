#include "kernels/softmax_loss.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

#include "kernels/euclidean_loss.h"
#include "kernels/rows_testing.h"

namespace shoal::kernels {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> Labels(std::size_t rows, std::size_t classes) {
  std::vector<float> labels(rows);
  for (std::size_t i = 0; i < rows; ++i) labels[i] = static_cast<float>(i * 7 % classes);
  return labels;
}

double LossOfRow(const TestRows& x, std::size_t row, std::size_t label) {
  double sum = 0;
  for (std::size_t c = 0; c < x.channels(); ++c) sum += std::exp(double{x.at(row, c)});
  return std::log(sum) - double{x.at(row, label)};
}

TEST(SoftmaxLossTest, LossAndGradientMatchDouble) {
  Serial serial;
  for (const Target target : SupportedTargets()) {
    for (const std::size_t classes : {2U, 10U, 37U}) {
      const TestRows x(11, classes, 3, 1);
      std::vector<float> labels = Labels(11, classes);
      labels[4] = 255;
      TestRows p(11, classes, 1, 2);
      SoftmaxRows(x.get(), p.get(), serial, target);
      const LabelledSum got = CrossEntropy(p.get(), labels, 255, serial);
      double want = 0;
      for (std::size_t i = 0; i < 11; ++i) {
        if (i != 4) want += LossOfRow(x, i, static_cast<std::size_t>(labels[i]));
      }
      EXPECT_NEAR(got.loss, want, 1e-5 * want);
      EXPECT_EQ(got.valid, 10U);
      EXPECT_EQ(got.bad, 0U);
      const TestRows before(11, classes, 1, 3);
      for (const bool accumulate : {false, true}) {
        TestRows dx = accumulate ? before : p;  // Also in place.
        CrossEntropyBackward(0.5F, accumulate ? p.get() : dx.get(), labels, 255, dx.get(),
                             accumulate, serial, target);
        ExpectRowsNear(
            dx,
            [&](std::size_t i, std::size_t c) {
              const double base = accumulate ? double{before.at(i, c)} : 0.0;
              if (i == 4) return base;
              const double target_p = labels[i] == static_cast<float>(c) ? 1 : 0;
              return base + 0.5 * (std::exp(-LossOfRow(x, i, c)) - target_p);
            },
            2e-6);
      }
    }
  }
}

TEST(SoftmaxLossTest, BadLabelsAreCountedAndProbabilitiesClamped) {
  Serial serial;
  const std::vector<float> p = {1, 0, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F};
  const std::vector<float> labels = {1, 2, -1, 0.5F, kNaN};
  const LabelledSum got =
      CrossEntropy(DenseRows(std::span<const float>(p), 2), labels, std::nullopt, serial);
  EXPECT_EQ(got.valid, 1U);
  EXPECT_EQ(got.bad, 4U);
  EXPECT_NEAR(got.loss, -std::log(double{FLT_MIN}), 1e-9);
  const std::vector<float> broken = {kNaN, 1};
  const LabelledSum nan = CrossEntropy(DenseRows(std::span<const float>(broken), 2),
                                       std::vector<float>{0}, std::nullopt, serial);
  EXPECT_TRUE(std::isnan(nan.loss));
}

TEST(SoftmaxLossTest, SoftmaxGradientIsNumeric) {
  Serial serial;
  for (const Target target : SupportedTargets()) {
    TestRows x(3, 9, 2, 1);
    const TestRows dy(3, 9, 0, 2);
    TestRows y(3, 9, 1, 3);
    SoftmaxRows(x.get(), y.get(), serial, target);
    TestRows dx(3, 9, 4, 4);
    const TestRows before = dx;
    SoftmaxRowsBackward(y.get(), dy.get(), dx.get(), true, serial, target);
    const auto loss = [&](std::size_t row) {
      double sum = 0;
      for (std::size_t c = 0; c < 9; ++c) {
        sum += std::exp(-LossOfRow(x, row, c)) * double{dy.at(row, c)};
      }
      return sum;
    };
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t c = 0; c < 9; ++c) {
        const float kept = x.at(row, c);
        x.at(row, c) = kept + 0x1p-10F;
        const double up = loss(row);
        x.at(row, c) = kept - 0x1p-10F;
        const double down = loss(row);
        x.at(row, c) = kept;
        EXPECT_NEAR(dx.at(row, c) - before.at(row, c), (up - down) * 0x1p9, 1e-5);
      }
    }
    dx.ExpectGapsUntouched();
  }
}

TEST(SoftmaxLossTest, TiesCountAgainstTheLabel) {
  Serial serial;
  const std::vector<float> scores = {3, 2, 1, 3, 2, 1, 1, 1, 1, kNaN, 1, 2, 1, 2, 2};
  const std::vector<float> labels = {0, 1, 0, 2, 7};
  const ConstRows rows = DenseRows(std::span<const float>(scores), 3);
  const LabelledCount top1 = CountTopK(rows, labels, 1, std::nullopt, serial);
  EXPECT_EQ(top1.correct, 1U);
  EXPECT_EQ(top1.valid, 4U);
  EXPECT_EQ(top1.bad, 1U);
  EXPECT_EQ(CountTopK(rows, labels, 2, std::nullopt, serial).correct, 3U);
  EXPECT_EQ(CountTopK(rows, labels, 3, 0, serial).correct, 2U);
  EXPECT_EQ(CountTopK(rows, labels, 3, 0, serial).valid, 2U);
}

TEST(EuclideanLossTest, DistanceAndGradient) {
  Serial serial;
  for (const Target target : SupportedTargets()) {
    for (const std::size_t channels : {1U, 19U, 64U}) {
      const TestRows a(300, channels, 2, 1);
      const TestRows b(300, channels, 0, 2);
      double want = 0;
      for (std::size_t i = 0; i < 300; ++i) {
        for (std::size_t c = 0; c < channels; ++c) {
          want += std::pow(double{a.at(i, c)} - double{b.at(i, c)}, 2);
        }
      }
      EXPECT_NEAR(SquaredDistance(a.get(), b.get(), serial, target), want, 1e-6 * want);
      TestRows dx(300, channels, 1, 3);
      const TestRows before = dx;
      ScaledDifference(0.3F, a.get(), b.get(), dx.get(), true, serial, target);
      ExpectRowsNear(
          dx,
          [&](std::size_t i, std::size_t c) {
            return double{before.at(i, c)} +
                   double{0.3F} * (double{a.at(i, c)} - double{b.at(i, c)});
          },
          1e-6);
    }
  }
}

TEST(SoftmaxLossTest, ResultsDoNotDependOnTheWorkers) {
  const TestRows x(1500, 30, 1, 1);
  const std::vector<float> labels = Labels(1500, 30);
  ExpectSameBitsWithAnyWorkers([&](Parallel& parallel) {
    TestRows p = x;
    SoftmaxRows(p.get(), p.get(), parallel);
    const double loss = CrossEntropy(p.get(), labels, 3, parallel).loss;
    const double distance = SquaredDistance(x.get(), p.get(), parallel);
    CrossEntropyBackward(1, p.get(), labels, 3, p.get(), false, parallel);
    std::vector<float> all = p.data();
    all.push_back(static_cast<float>(loss - std::floor(loss)));
    all.push_back(static_cast<float>(distance - std::floor(distance)));
    return all;
  });
}

}  // namespace
}  // namespace shoal::kernels
