#include "kernels/lrn.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/rows_testing.h"

namespace shoal::kernels {
namespace {

// In double: y of one element of x.
double AcrossChannels(const LrnParams& p, const TestRows& x, std::size_t row, std::size_t c) {
  const std::size_t half = p.size / 2;
  double sum = 0;
  for (std::size_t i = c > half ? c - half : 0; i < std::min(x.channels(), c + half + 1); ++i) {
    sum += double{x.at(row, i)} * double{x.at(row, i)};
  }
  const double scale = double{p.k} + double{p.alpha} / static_cast<double>(p.size) * sum;
  return double{x.at(row, c)} * std::pow(scale, -double{p.beta});
}

double WithinChannel(const LrnParams& p, const LrnImages& images, const TestRows& x,
                     std::size_t row, std::size_t c) {
  const auto half = static_cast<int>(p.size / 2);
  const auto height = static_cast<int>(images.height);
  const auto width = static_cast<int>(images.width);
  const auto place = static_cast<int>(row);
  const int image = place / (height * width);
  const int y0 = place / width % height;
  const int x0 = place % width;
  double sum = 0;
  for (int dy = -half; dy <= half; ++dy) {
    for (int dx = -half; dx <= half; ++dx) {
      if (y0 + dy < 0 || y0 + dy >= height || x0 + dx < 0 || x0 + dx >= width) continue;
      const auto at = static_cast<std::size_t>((image * height + y0 + dy) * width + x0 + dx);
      sum += double{x.at(at, c)} * double{x.at(at, c)};
    }
  }
  // The window is clipped to image and padding: here never, as the padding is half a window.
  const double scale = 1 + double{p.alpha} * sum / static_cast<double>(p.size * p.size);
  return double{x.at(row, c)} * std::pow(scale, -double{p.beta});
}

// dx is the numeric gradient of the sum of dy * value(row, channel).
template <class Value>
void ExpectGradient(TestRows& x, const TestRows& dy, const TestRows& dx, const TestRows& before,
                    bool accumulate, const Value& value) {
  const auto loss = [&] {
    double sum = 0;
    for (std::size_t i = 0; i < x.rows(); ++i) {
      for (std::size_t c = 0; c < x.channels(); ++c) sum += value(i, c) * double{dy.at(i, c)};
    }
    return sum;
  };
  for (std::size_t i = 0; i < x.rows(); ++i) {
    for (std::size_t c = 0; c < x.channels(); ++c) {
      const float kept = x.at(i, c);
      x.at(i, c) = kept + 0x1p-10F;
      const double up = loss();
      x.at(i, c) = kept - 0x1p-10F;
      const double down = loss();
      x.at(i, c) = kept;
      const double want = (up - down) / (2 * 0x1p-10) + (accumulate ? double{before.at(i, c)} : 0);
      ASSERT_NEAR(dx.at(i, c), want, 1e-4) << i << ", " << c;
    }
  }
  dx.ExpectGapsUntouched();
}

const LrnParams kParams[] = {
    {}, {.size = 3, .alpha = 0.5F, .beta = 0.5F, .k = 2}, {.size = 9, .alpha = 2, .beta = 1.3F}};

TEST(LrnTest, AcrossChannels) {
  Serial serial;
  for (const Target target : SupportedTargets()) {
    for (const LrnParams& params : kParams) {
      for (const std::size_t channels : {1U, 4U, 17U, 32U}) {
        SCOPED_TRACE(testing::Message() << target << " " << params.size << " " << channels);
        TestRows x(3, channels, 2, 1);
        TestRows y(3, channels, 1, 2);
        LrnAcrossChannels(params, x.get(), y.get(), serial, target);
        const auto value = [&](std::size_t i, std::size_t c) {
          return AcrossChannels(params, x, i, c);
        };
        ExpectRowsNear(y, value, 2e-6);
        const TestRows dy(3, channels, 0, 3);
        const TestRows before(3, channels, 3, 4);
        for (const bool accumulate : {false, true}) {
          TestRows dx = before;
          LrnAcrossChannelsBackward(params, x.get(), dy.get(), dx.get(), accumulate, serial,
                                    target);
          ExpectGradient(x, dy, dx, before, accumulate, value);
        }
      }
    }
  }
}

TEST(LrnTest, LongRowsAreTheSameAcrossTheirBlocks) {
  Serial serial;
  for (const Target target : SupportedTargets()) {
    const LrnParams params{.size = 7, .alpha = 1, .beta = 0.75F, .k = 1};
    const TestRows x(2, 1100, 0, 1);
    TestRows y(2, 1100, 0, 2);
    LrnAcrossChannels(params, x.get(), y.get(), serial, target);
    ExpectRowsNear(
        y, [&](std::size_t i, std::size_t c) { return AcrossChannels(params, x, i, c); }, 2e-6);
    // A gradient that is not zero around the end of a block, alone and in the middle of one.
    TestRows dy(2, 1100, 0, 3);
    TestRows dx(2, 1100, 0, 4);
    LrnAcrossChannelsBackward(params, x.get(), dy.get(), dx.get(), false, serial, target);
    TestRows x2(2, 200, 0, 5);
    TestRows dy2(2, 200, 0, 6);
    for (std::size_t c = 0; c < 200; ++c) {
      x2.at(0, c) = x.at(0, 420 + c);
      dy2.at(0, c) = dy.at(0, 420 + c);
    }
    TestRows dx2(2, 200, 0, 7);
    LrnAcrossChannelsBackward(params, x2.get(), dy2.get(), dx2.get(), false, serial, target);
    for (std::size_t c = 20; c < 180; ++c) ASSERT_NEAR(dx.at(0, 420 + c), dx2.at(0, c), 1e-5) << c;
  }
}

TEST(LrnTest, WithinChannel) {
  Serial serial;
  const LrnImages images{2, 4, 3};
  for (const Target target : SupportedTargets()) {
    for (const LrnParams& params : kParams) {
      TestRows x(24, 5, 2, 1);
      TestRows y(24, 5, 1, 2);
      std::vector<float> scratch(LrnWithinChannelScratchFloats(images, 5));
      LrnWithinChannel(params, images, x.get(), y.get(), scratch, serial, target);
      const auto value = [&](std::size_t i, std::size_t c) {
        return WithinChannel(params, images, x, i, c);
      };
      ExpectRowsNear(y, value, 2e-6);
      const TestRows dy(24, 5, 0, 3);
      const TestRows before(24, 5, 3, 4);
      for (const bool accumulate : {false, true}) {
        TestRows dx = before;
        LrnWithinChannelBackward(params, images, x.get(), dy.get(), dx.get(), accumulate, scratch,
                                 serial, target);
        ExpectGradient(x, dy, dx, before, accumulate, value);
      }
    }
  }
}

TEST(LrnTest, ResultsDoNotDependOnTheWorkers) {
  const TestRows x(900, 70, 1, 1);
  const TestRows dy(900, 70, 0, 2);
  ExpectSameBitsWithAnyWorkers([&](Parallel& parallel) {
    TestRows y(900, 70, 0, 3);
    TestRows dx(900, 70, 0, 4);
    LrnAcrossChannels({}, x.get(), y.get(), parallel);
    LrnAcrossChannelsBackward({}, x.get(), dy.get(), dx.get(), false, parallel);
    std::vector<float> all = y.data();
    std::vector<float> scratch(2 * 900 * 70);
    LrnWithinChannelBackward({}, {1, 30, 30}, x.get(), dy.get(), dx.get(), true, scratch, parallel);
    all.insert(all.end(), dx.data().begin(), dx.data().end());
    return all;
  });
}

}  // namespace
}  // namespace shoal::kernels
