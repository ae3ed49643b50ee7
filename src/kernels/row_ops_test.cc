#include "kernels/row_ops.h"

#include <gtest/gtest.h>

#include "kernels/rows_testing.h"

namespace shoal::kernels {
namespace {

// Calls body(channels, gap, target) for parts of vectors and rows with and without gaps.
template <class Body>
void ForSizesAndTargets(const Body& body) {
  for (const Target target : SupportedTargets()) {
    for (const std::size_t channels : {1U, 7U, 16U, 37U, 64U}) {
      for (const std::size_t gap : {0U, 3U}) {
        SCOPED_TRACE(testing::Message() << target << " " << channels << "+" << gap);
        body(channels, gap, target);
      }
    }
  }
}

TEST(RowOpsTest, CombinesAndFills) {
  Serial serial;
  ForSizesAndTargets([&](std::size_t channels, std::size_t gap, Target target) {
    const TestRows x(9, channels, gap, 1);
    const TestRows before(9, channels, gap, 2);
    for (const float a : {1.0F, 0.3F}) {
      for (const float b : {0.0F, 1.0F, -0.7F}) {
        TestRows y = before;
        CombineRows(a, x.get(), b, y.get(), serial, target);
        ExpectRowsNear(
            y,
            [&](std::size_t i, std::size_t c) {
              return double{a} * double{x.at(i, c)} + double{b} * double{before.at(i, c)};
            },
            1e-6);
      }
    }
    TestRows y = before;
    FillRows(2, y.get(), serial, target);
    ExpectRowsNear(
        y, [](std::size_t, std::size_t) { return 2.0; }, 0);
  });
}

TEST(RowOpsTest, CopyDoesNotReadWhatItOverwrites) {
  Serial serial;
  const TestRows x(3, 5, 0, 1);
  TestRows y(3, 5, 1, 2);
  for (std::size_t i = 0; i < 3; ++i) y.at(i, 2) = std::numeric_limits<float>::quiet_NaN();
  CopyRows(x.get(), y.get(), serial);
  ExpectRowsNear(
      y, [&](std::size_t i, std::size_t c) { return double{x.at(i, c)}; }, 0);
}

TEST(RowOpsTest, Multiplies) {
  Serial serial;
  ForSizesAndTargets([&](std::size_t channels, std::size_t gap, Target target) {
    const TestRows x(9, channels, gap, 1);
    const TestRows y(9, channels, 0, 2);
    const TestRows before(9, channels, gap, 3);
    for (const bool accumulate : {false, true}) {
      TestRows z = before;
      MultiplyRows(x.get(), y.get(), z.get(), accumulate, serial, target);
      ExpectRowsNear(
          z,
          [&](std::size_t i, std::size_t c) {
            return double{x.at(i, c)} * double{y.at(i, c)} +
                   (accumulate ? double{before.at(i, c)} : 0.0);
          },
          1e-6);
    }
  });
}

TEST(RowOpsTest, MaxRemembersItsInput) {
  Serial serial;
  ForSizesAndTargets([&](std::size_t channels, std::size_t gap, Target target) {
    std::vector<TestRows> x;
    for (std::size_t i = 0; i < 3; ++i) {
      x.emplace_back(9, channels, gap, i);
      for (std::size_t row = 0; row < 9; ++row) {  // Ties.
        for (std::size_t c = 0; c < channels; ++c) x[i].at(row, c) = std::round(x[i].at(row, c));
      }
    }
    const ConstRows inputs[] = {x[0].get(), x[1].get(), x[2].get()};
    const auto winner = [&](std::size_t row, std::size_t c) -> std::size_t {
      const std::size_t best = x[0].at(row, c) > x[1].at(row, c) ? 0 : 1;
      return x[2].at(row, c) > x[best].at(row, c) ? 2 : best;
    };
    TestRows y(9, channels, gap, 5);
    std::vector<std::uint8_t> index(9 * channels);
    MaxOfRows(inputs, y.get(), index.data(), serial, target);
    ExpectRowsNear(
        y, [&](std::size_t i, std::size_t c) { return double{x[winner(i, c)].at(i, c)}; }, 0);
    const TestRows dy(9, channels, gap, 6);
    const TestRows before(9, channels, gap, 7);
    for (const bool accumulate : {false, true}) {
      TestRows dx = before;
      MaxOfRowsBackward(dy.get(), index.data(), 1, dx.get(), accumulate, serial, target);
      ExpectRowsNear(
          dx,
          [&](std::size_t i, std::size_t c) {
            return (winner(i, c) == 1 ? double{dy.at(i, c)} : 0.0) +
                   (accumulate ? double{before.at(i, c)} : 0.0);
          },
          1e-6);
    }
  });
}

TEST(RowOpsTest, ScalesChannels) {
  Serial serial;
  ForSizesAndTargets([&](std::size_t channels, std::size_t gap, Target target) {
    const TestRows x(9, channels, gap, 1);
    const TestRows before(9, channels, gap, 2);
    const std::vector<float> factor = NormalFloats(channels, 3);
    const std::vector<float> offset = NormalFloats(channels, 4);
    for (const bool scale : {false, true}) {
      for (const bool shift : {false, true}) {
        for (const bool accumulate : {false, true}) {
          TestRows y = before;
          ScaleChannels(x.get(), scale ? factor : std::vector<float>(),
                        shift ? offset : std::vector<float>(), y.get(), accumulate, serial, target);
          ExpectRowsNear(
              y,
              [&](std::size_t i, std::size_t c) {
                return double{x.at(i, c)} * (scale ? double{factor[c]} : 1.0) +
                       (shift ? double{offset[c]} : 0.0) +
                       (accumulate ? double{before.at(i, c)} : 0.0);
              },
              1e-6);
        }
      }
    }
  });
}

TEST(RowOpsTest, SumsColumns) {
  Serial serial;
  for (const Target target : SupportedTargets()) {
    for (const std::size_t rows : {0U, 1U, 6U, 513U, 1030U}) {
      for (const std::size_t channels : {1U, 19U, 70U}) {
        const TestRows x(rows, channels, 2, 1);
        const TestRows dy(rows, channels, 0, 2);
        std::vector<float> scratch(ColumnSumsScratchFloats(rows, channels));
        for (const bool accumulate : {false, true}) {
          std::vector<float> sums(channels, 10.0F);
          std::vector<float> dfactor(channels, 20.0F);
          std::vector<float> doffset(channels, 30.0F);
          ColumnSums(dy.get(), sums, accumulate, scratch, serial, target);
          ScaleChannelsBackward(x.get(), dy.get(), dfactor, doffset, accumulate, scratch, serial,
                                target);
          for (std::size_t c = 0; c < channels; ++c) {
            double sum = 0;
            double product = 0;
            for (std::size_t i = 0; i < rows; ++i) {
              sum += double{dy.at(i, c)};
              product += double{dy.at(i, c)} * double{x.at(i, c)};
            }
            ASSERT_NEAR(sums[c], sum + (accumulate ? 10 : 0), 1e-4);
            ASSERT_NEAR(doffset[c], sum + (accumulate ? 30 : 0), 1e-4);
            ASSERT_NEAR(dfactor[c], product + (accumulate ? 20 : 0), 1e-4);
          }
        }
      }
    }
  }
}

TEST(RowOpsTest, PlanesAndBack) {
  Serial serial;
  constexpr std::size_t kPixels = 21;
  const TestRows x(2 * kPixels, 5, 3, 1);
  std::vector<float> planes(2 * kPixels * 5, 1.0F);
  RowsToPlanes(x.get(), kPixels, planes, false, serial);
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t c = 0; c < 5; ++c) {
      for (std::size_t p = 0; p < kPixels; ++p) {
        ASSERT_EQ(planes[(n * 5 + c) * kPixels + p], x.at(n * kPixels + p, c));
      }
    }
  }
  TestRows back(2 * kPixels, 5, 1, 2);
  PlanesToRows(planes, kPixels, back.get(), false, serial);
  PlanesToRows(planes, kPixels, back.get(), true, serial);
  RowsToPlanes(x.get(), kPixels, planes, true, serial);
  ASSERT_EQ(planes[3], 2 * x.at(3, 0));
  ExpectRowsNear(
      back, [&](std::size_t i, std::size_t c) { return 2 * double{x.at(i, c)}; }, 0);
}

TEST(RowOpsTest, ResultsDoNotDependOnTheWorkers) {
  const TestRows x(1100, 70, 3, 1);
  const TestRows y(1100, 70, 0, 2);
  ExpectSameBitsWithAnyWorkers([&](Parallel& parallel) {
    std::vector<float> sums(140);
    std::vector<float> scratch(ColumnSumsScratchFloats(1100, 70));
    ScaleChannelsBackward(x.get(), y.get(), std::span(sums).first(70), std::span(sums).last(70),
                          true, scratch, parallel);
    TestRows z = y;
    CombineRows(0.5F, x.get(), 2, z.get(), parallel);
    std::vector<float> planes(1100 * 70);
    RowsToPlanes(z.get(), 110, planes, false, parallel);
    sums.insert(sums.end(), planes.begin(), planes.end());
    return sums;
  });
}

}  // namespace
}  // namespace shoal::kernels
