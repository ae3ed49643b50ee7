#include "kernels/pooling.h"

#include <gtest/gtest.h>

#include <cfloat>

#include "kernels/rows_testing.h"

namespace shoal::kernels {
namespace {

// {batch, height, width, channels, kernel, stride, pad, out}
const PoolShape kShapes[] = {
    {1, 4, 4, 1, 2, 2, 2, 2, 0, 0, 2, 2},     {2, 7, 5, 3, 3, 3, 2, 2, 0, 0, 3, 2},
    {2, 6, 6, 37, 3, 3, 2, 2, 0, 0, 3, 3},  // The last windows are clipped: ceil.
    {1, 5, 7, 70, 3, 3, 1, 1, 1, 1, 5, 7},    {2, 6, 5, 16, 2, 3, 3, 1, 1, 2, 3, 7},
    {3, 7, 7, 130, 7, 7, 1, 1, 0, 0, 1, 1},    // Global.
    {1, 8, 8, 9, 3, 3, 2, 2, 1, 1, 5, 5},      // Padded and ceil.
    {1, 20, 20, 5, 17, 17, 1, 1, 0, 0, 4, 4},  // Places need two bytes.
    {1, 4, 4, 6, 1, 1, 2, 2, 0, 0, 3, 3},      // A window beside the image.
};

struct Window {
  std::ptrdiff_t y0, y1, x0, x1;  // Clipped to the image.
  double divisor;
};

Window WindowOf(const PoolShape& s, std::size_t oy, std::size_t ox) {
  using Int = std::ptrdiff_t;
  const Int y0 = static_cast<Int>(oy * s.stride_h) - static_cast<Int>(s.pad_h);
  const Int x0 = static_cast<Int>(ox * s.stride_w) - static_cast<Int>(s.pad_w);
  const Int y1 = std::min(y0 + static_cast<Int>(s.kernel_h), static_cast<Int>(s.height + s.pad_h));
  const Int x1 = std::min(x0 + static_cast<Int>(s.kernel_w), static_cast<Int>(s.width + s.pad_w));
  const double divisor = static_cast<double>((y1 - y0) * (x1 - x0));
  return {std::max<Int>(y0, 0), std::min(y1, static_cast<Int>(s.height)), std::max<Int>(x0, 0),
          std::min(x1, static_cast<Int>(s.width)), divisor};
}

// Calls visit(output pixel, window, first pixel of the image).
template <class Visit>
void ForWindows(const PoolShape& s, const Visit& visit) {
  for (std::size_t n = 0; n < s.batch; ++n) {
    for (std::size_t oy = 0; oy < s.out_height; ++oy) {
      for (std::size_t ox = 0; ox < s.out_width; ++ox) {
        visit((n * s.out_height + oy) * s.out_width + ox, WindowOf(s, oy, ox),
              n * s.height * s.width);
      }
    }
  }
}

// Calls visit(input pixel) in row-major order.
template <class Visit>
void ForPixels(const PoolShape& s, const Window& w, std::size_t image, const Visit& visit) {
  for (std::ptrdiff_t y = w.y0; y < w.y1; ++y) {
    for (std::ptrdiff_t x = w.x0; x < w.x1; ++x) {
      visit(image + static_cast<std::size_t>(y) * s.width + static_cast<std::size_t>(x));
    }
  }
}

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

// The input pixel of each maximum, and kNowhere for an empty window.
std::vector<std::size_t> MaxPixels(const PoolShape& s, const TestRows& x) {
  std::vector<std::size_t> result(s.out_pixels() * s.channels, kNowhere);
  ForWindows(s, [&](std::size_t out, const Window& w, std::size_t image) {
    for (std::size_t c = 0; c < s.channels; ++c) {
      std::size_t& best = result[out * s.channels + c];
      ForPixels(s, w, image, [&](std::size_t pixel) {
        if (best == kNowhere || x.at(pixel, c) > x.at(best, c)) best = pixel;
      });
    }
  });
  return result;
}

// Few distinct values, so that there are ties.
TestRows Image(const PoolShape& s) {
  TestRows x(s.in_pixels(), s.channels, 3, 1);
  for (std::size_t i = 0; i < x.rows(); ++i) {
    for (std::size_t c = 0; c < s.channels; ++c) x.at(i, c) = std::round(2 * x.at(i, c));
  }
  return x;
}

TEST(PoolingTest, MaxIsTheFirstOfTheWindowAndItsGradientGoesThere) {
  Serial serial;
  for (const Target target : SupportedTargets()) {
    for (const PoolShape& s : kShapes) {
      SCOPED_TRACE(testing::Message() << target << " " << s.height << "x" << s.width);
      const TestRows x = Image(s);
      const std::vector<std::size_t> pixels = MaxPixels(s, x);
      TestRows y(s.out_pixels(), s.channels, 1, 2);
      TestRows plain(s.out_pixels(), s.channels, 1, 3);
      std::vector<std::uint16_t> index((MaxPoolIndexBytes(s) + 1) / 2);
      MaxPool(s, x.get(), y.get(), index.data(), serial, target);
      MaxPool(s, x.get(), plain.get(), nullptr, serial, target);
      ExpectSameBits<float>(plain.data(), y.data());
      ExpectRowsNear(
          y,
          [&](std::size_t i, std::size_t c) {
            const std::size_t pixel = pixels[i * s.channels + c];
            return pixel == kNowhere ? -double{FLT_MAX} : double{x.at(pixel, c)};
          },
          0);
      const TestRows dy(s.out_pixels(), s.channels, 2, 4);
      const TestRows before(s.in_pixels(), s.channels, 5, 5);
      for (const bool relu : {false, true}) {
        for (const bool accumulate : {false, true}) {
          TestRows dx = before;
          MaxPoolBackward(s, dy.get(), index.data(), relu ? y.get() : ConstRows(), dx.get(),
                          accumulate, serial, target);
          std::vector<double> want(s.in_pixels() * s.channels);
          for (std::size_t i = 0; i < pixels.size(); ++i) {
            const std::size_t c = i % s.channels;
            const std::size_t row = i / s.channels;
            if (pixels[i] == kNowhere || (relu && y.at(row, c) <= 0)) continue;
            want[pixels[i] * s.channels + c] += double{dy.at(row, c)};
          }
          ExpectRowsNear(
              dx,
              [&](std::size_t i, std::size_t c) {
                return want[i * s.channels + c] + (accumulate ? double{before.at(i, c)} : 0.0);
              },
              1e-6);
        }
      }
    }
  }
}

TEST(PoolingTest, AverageCountsPaddingAndItsGradientIsSpread) {
  Serial serial;
  for (const Target target : SupportedTargets()) {
    for (const PoolShape& s : kShapes) {
      SCOPED_TRACE(testing::Message() << target << " " << s.height << "x" << s.width);
      const TestRows x = Image(s);
      const TestRows dy(s.out_pixels(), s.channels, 2, 4);
      const TestRows before(s.in_pixels(), s.channels, 5, 5);
      std::vector<double> want_y(s.out_pixels() * s.channels);
      std::vector<double> want_dx(s.in_pixels() * s.channels);
      ForWindows(s, [&](std::size_t out, const Window& w, std::size_t image) {
        ForPixels(s, w, image, [&](std::size_t pixel) {
          for (std::size_t c = 0; c < s.channels; ++c) {
            want_y[out * s.channels + c] += double{x.at(pixel, c)} / w.divisor;
            want_dx[pixel * s.channels + c] += double{dy.at(out, c)} / w.divisor;
          }
        });
      });
      TestRows y(s.out_pixels(), s.channels, 1, 2);
      AveragePool(s, x.get(), y.get(), serial, target);
      ExpectRowsNear(
          y, [&](std::size_t i, std::size_t c) { return want_y[i * s.channels + c]; }, 1e-6);
      for (const bool accumulate : {false, true}) {
        TestRows dx = before;
        AveragePoolBackward(s, dy.get(), dx.get(), accumulate, serial, target);
        ExpectRowsNear(
            dx,
            [&](std::size_t i, std::size_t c) {
              return want_dx[i * s.channels + c] + (accumulate ? double{before.at(i, c)} : 0.0);
            },
            1e-6);
      }
    }
  }
}

TEST(PoolingTest, ResultsDoNotDependOnTheWorkers) {
  const PoolShape shapes[] = {{2, 28, 28, 70, 3, 3, 2, 2, 0, 0, 14, 14},
                              {2, 16, 16, 200, 16, 16, 1, 1, 0, 0, 1, 1}};
  for (const PoolShape& s : shapes) {
    const TestRows x = Image(s);
    const TestRows dy(s.out_pixels(), s.channels, 2, 4);
    ExpectSameBitsWithAnyWorkers([&](Parallel& parallel) {
      TestRows y(s.out_pixels(), s.channels, 0, 2);
      TestRows dx(s.in_pixels(), s.channels, 0, 2);
      std::vector<std::uint16_t> index((MaxPoolIndexBytes(s) + 1) / 2);
      MaxPool(s, x.get(), y.get(), index.data(), parallel);
      MaxPoolBackward(s, dy.get(), index.data(), y.get(), dx.get(), false, parallel);
      std::vector<float> all = dx.data();
      AveragePool(s, x.get(), y.get(), parallel);
      AveragePoolBackward(s, dy.get(), dx.get(), true, parallel);
      all.insert(all.end(), y.data().begin(), y.data().end());
      all.insert(all.end(), dx.data().begin(), dx.data().end());
      return all;
    });
  }
}

}  // namespace
}  // namespace shoal::kernels
