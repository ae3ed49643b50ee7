#include "kernels/batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/rows_testing.h"

namespace shoal::kernels {
namespace {

struct Case {
  std::size_t rows;
  std::size_t channels;
  std::size_t gap;
};
// Row chunks of RowPartition: one, several, of unequal length; channels: parts of vectors, blocks.
constexpr Case kCases[] = {{1, 1, 0},   {2, 3, 1},     {7, 16, 0},   {49, 37, 5},
                           {300, 8, 0}, {513, 19, 13}, {61, 130, 2}, {1030, 33, 0}};

struct Statistics {
  std::vector<float> mean;
  std::vector<float> variance;
};

Statistics Measure(ConstRows x, Parallel& parallel, Target target) {
  Statistics result{std::vector<float>(x.channels), std::vector<float>(x.channels)};
  std::vector<float> scratch(BatchNormScratchFloats(x.rows, x.channels));
  BatchMeanVariance(x, result.mean, result.variance, scratch, parallel, target);
  return result;
}

double MeanOf(const TestRows& x, std::size_t c) {
  double sum = 0;
  for (std::size_t row = 0; row < x.rows(); ++row) sum += static_cast<double>(x.at(row, c));
  return sum / static_cast<double>(x.rows());
}
double VarianceOf(const TestRows& x, std::size_t c) {
  const double mean = MeanOf(x, c);
  double sum = 0;
  for (std::size_t row = 0; row < x.rows(); ++row) {
    sum += (static_cast<double>(x.at(row, c)) - mean) * (static_cast<double>(x.at(row, c)) - mean);
  }
  return sum / static_cast<double>(x.rows());
}

TEST(BatchNormTest, MeanAndVarianceKeepTheirDigitsFarFromZero) {
  Serial serial;
  for (const Target target : SupportedTargets()) {
    for (const Case& size : kCases) {
      SCOPED_TRACE(testing::Message() << target << " " << size.rows << "x" << size.channels);
      TestRows x(size.rows, size.channels, size.gap, 1);
      for (std::size_t i = 0; i < size.rows; ++i) x.at(i, 0) = x.at(i, 0) * 0.01F + 1000.0F;
      const Statistics got = Measure(x.get(), serial, target);
      for (std::size_t c = 0; c < size.channels; ++c) {
        const double variance = VarianceOf(x, c);
        ASSERT_NEAR(got.mean[c], MeanOf(x, c), 1e-6 * (1 + std::abs(MeanOf(x, c))));
        ASSERT_NEAR(got.variance[c], variance, 1e-5 * variance);
      }
    }
  }
}

TEST(BatchNormTest, AppliesScaleShiftResidualAndRelu) {
  Serial serial;
  for (const Target target : SupportedTargets()) {
    for (const Case& size : kCases) {
      const TestRows x(size.rows, size.channels, size.gap, 1);
      const TestRows residual(size.rows, size.channels, 3, 2);
      const std::vector<float> scale = NormalFloats(size.channels, 3);
      const std::vector<float> shift = NormalFloats(size.channels, 4);
      for (const bool add : {false, true}) {
        for (const bool relu : {false, true}) {
          TestRows y(size.rows, size.channels, 1, 5);
          BatchNormApply(x.get(), scale, shift, add ? residual.get() : ConstRows(), relu, y.get(),
                         serial, target);
          ExpectRowsNear(
              y,
              [&](std::size_t row, std::size_t c) {
                const double v = double{x.at(row, c)} * double{scale[c]} + double{shift[c]} +
                                 (add ? double{residual.at(row, c)} : 0.0);
                return relu && v < 0 ? 0.0 : v;
              },
              1e-6);
        }
      }
    }
  }
}

// Everything between x and the gradient of x, in double: L = sum of g * y.
struct Layer {
  const TestRows& x;
  const TestRows& residual;
  const std::vector<float>& gamma;
  const std::vector<float>& beta;
  const TestRows& g;
  static constexpr double kEpsilon = 1e-3;

  double Y(std::size_t row, std::size_t c, double mean, double inv_std) const {
    const double xhat = (double{x.at(row, c)} - mean) * inv_std;
    return std::max(0.0, xhat * double{gamma[c]} + double{beta[c]} + double{residual.at(row, c)});
  }
  double Loss(std::size_t c) const {
    const double mean = MeanOf(x, c);
    const double inv_std = 1 / std::sqrt(VarianceOf(x, c) + kEpsilon);
    double sum = 0;
    for (std::size_t row = 0; row < x.rows(); ++row) {
      sum += Y(row, c, mean, inv_std) * double{g.at(row, c)};
    }
    return sum;
  }
};

struct Backward {
  std::vector<float> dgamma;
  std::vector<float> dbeta;
  TestRows dx;
  TestRows masked;
};

// Forward and backward with ReLU and residual; `premask`: dy is masked in place by the sums.
Backward RunLayer(const Layer& layer, bool premask, Parallel& parallel, Target target) {
  const std::size_t rows = layer.x.rows();
  const std::size_t channels = layer.x.channels();
  const Statistics statistics = Measure(layer.x.get(), parallel, target);
  std::vector<float> inv_std(channels);
  std::vector<float> scale(channels);
  std::vector<float> shift(channels);
  BatchNormFactors(statistics.mean, statistics.variance, static_cast<float>(Layer::kEpsilon),
                   layer.gamma, layer.beta, inv_std, scale, shift);
  TestRows y(rows, channels, 2, 6);
  BatchNormApply(layer.x.get(), scale, shift, layer.residual.get(), true, y.get(), parallel,
                 target);
  Backward result{std::vector<float>(channels), std::vector<float>(channels),
                  TestRows(rows, channels, 4, 7), TestRows(rows, channels, 1, 8)};
  TestRows dy = layer.g;
  std::vector<float> scratch(std::max(BatchNormScratchFloats(rows, channels), 3 * channels));
  BatchNormBackwardSums({.x = layer.x.get(),
                         .dy = dy.get(),
                         .y = y.get(),
                         .mean = statistics.mean,
                         .inv_std = inv_std,
                         .masked = premask ? dy.get() : result.masked.get(),
                         .accumulate_masked = !premask,
                         .sum_dy = result.dbeta,
                         .sum_dy_xhat = result.dgamma},
                        scratch, parallel, target);
  BatchNormBackwardApply({.x = layer.x.get(),
                          .dy = dy.get(),
                          .y = premask ? ConstRows() : y.get(),
                          .mean = statistics.mean,
                          .inv_std = inv_std,
                          .gamma = layer.gamma,
                          .sum_dy = result.dbeta,
                          .sum_dy_xhat = result.dgamma,
                          .dx = premask ? dy.get() : result.dx.get(),
                          .accumulate = !premask},
                         scratch, parallel, target);
  if (premask) result.dx = dy;
  return result;
}

TEST(BatchNormTest, GradientsAreThoseOfTheLoss) {
  Serial serial;
  for (const Target target : SupportedTargets()) {
    for (const Case& size : {Case{5, 3, 1}, Case{12, 17, 0}, Case{7, 40, 2}}) {
      TestRows x(size.rows, size.channels, size.gap, 1);
      const TestRows residual(size.rows, size.channels, 3, 2);
      const std::vector<float> gamma = NormalFloats(size.channels, 3);
      const std::vector<float> beta = NormalFloats(size.channels, 4);
      const TestRows g(size.rows, size.channels, 0, 5);
      const Layer layer{x, residual, gamma, beta, g};
      const Backward in_place = RunLayer(layer, true, serial, target);
      const Backward added = RunLayer(layer, false, serial, target);
      const TestRows dx_before(size.rows, size.channels, 4, 7);
      const TestRows masked_before(size.rows, size.channels, 1, 8);
      for (std::size_t c = 0; c < size.channels; ++c) {
        const double inv_std = 1 / std::sqrt(VarianceOf(x, c) + Layer::kEpsilon);
        const double mean = MeanOf(x, c);
        double dbeta = 0;
        double dgamma = 0;
        for (std::size_t row = 0; row < size.rows; ++row) {
          const double masked = layer.Y(row, c, mean, inv_std) > 0 ? double{g.at(row, c)} : 0.0;
          ASSERT_NEAR(added.masked.at(row, c), masked + double{masked_before.at(row, c)}, 1e-6);
          dbeta += masked;
          dgamma += masked * (double{x.at(row, c)} - mean) * inv_std;
          const float kept = x.at(row, c);
          x.at(row, c) = kept + 0x1p-12F;
          const double up = layer.Loss(c);
          x.at(row, c) = kept - 0x1p-12F;
          const double down = layer.Loss(c);
          x.at(row, c) = kept;
          const double want = (up - down) * 0x1p11;
          ASSERT_NEAR(in_place.dx.at(row, c), want, 2e-4 * (1 + std::abs(want)));
          ASSERT_NEAR(added.dx.at(row, c) - dx_before.at(row, c), in_place.dx.at(row, c), 3e-6);
        }
        ASSERT_NEAR(in_place.dbeta[c], dbeta, 1e-5);
        ASSERT_NEAR(in_place.dgamma[c], dgamma, 1e-5 * (1 + std::abs(dgamma)));
      }
      added.dx.ExpectGapsUntouched();
      added.masked.ExpectGapsUntouched();
    }
  }
}

TEST(BatchNormTest, FrozenStatisticsScaleTheGradient) {
  Serial serial;
  for (const Target target : SupportedTargets()) {
    const TestRows dy(11, 21, 3, 1);
    const TestRows y(11, 21, 0, 2);
    const TestRows before(11, 21, 1, 3);
    const std::vector<float> scale = NormalFloats(21, 4);
    for (const bool relu : {false, true}) {
      for (const bool accumulate : {false, true}) {
        TestRows dx = before;
        BatchNormBackwardFrozen(dy.get(), relu ? y.get() : ConstRows(), scale, dx.get(), accumulate,
                                serial, target);
        ExpectRowsNear(
            dx,
            [&](std::size_t row, std::size_t c) {
              const bool counts = !relu || y.at(row, c) > 0;
              return (counts ? double{dy.at(row, c)} * double{scale[c]} : 0.0) +
                     (accumulate ? double{before.at(row, c)} : 0.0);
            },
            1e-6);
      }
    }
  }
}

TEST(BatchNormTest, ResultsDoNotDependOnTheWorkers) {
  for (const Case& size : {Case{1030, 70, 3}, Case{40, 600, 0}}) {
    const TestRows x(size.rows, size.channels, size.gap, 1);
    const TestRows residual(size.rows, size.channels, 3, 2);
    const std::vector<float> gamma = NormalFloats(size.channels, 3);
    const std::vector<float> beta = NormalFloats(size.channels, 4);
    const TestRows g(size.rows, size.channels, 0, 5);
    ExpectSameBitsWithAnyWorkers([&](Parallel& parallel) {
      const Backward result =
          RunLayer({x, residual, gamma, beta, g}, false, parallel, BestTarget());
      std::vector<float> all = result.dx.data();
      all.insert(all.end(), result.masked.data().begin(), result.masked.data().end());
      all.insert(all.end(), result.dgamma.begin(), result.dgamma.end());
      all.insert(all.end(), result.dbeta.begin(), result.dbeta.end());
      return all;
    });
  }
}

}  // namespace
}  // namespace shoal::kernels
