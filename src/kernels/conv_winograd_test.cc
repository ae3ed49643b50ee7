#include "kernels/conv_winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/float_scratch.h"
#include "kernels/kernel_testing.h"

namespace shoal::kernels {
namespace {

// Errors against sums in double, as parts of the largest sum of |products|.
struct Variant {
  const ConvImplementation& implementation;
  double error_max;
};
const Variant kVariants[] = {{kWinogradF2, 1e-6}, {kWinogradF4, 4e-6}};

ConvShape Shape(std::size_t batch, std::size_t height, std::size_t width, std::size_t channels,
                std::size_t outputs, std::size_t pad_h, std::size_t pad_w, std::size_t groups = 1) {
  return {.batch = batch,
          .height = height,
          .width = width,
          .channels = channels,
          .outputs = outputs,
          .kernel_h = 3,
          .kernel_w = 3,
          .pad_h = pad_h,
          .pad_w = pad_w,
          .groups = groups};
}

// Every remainder of tiles and of vectors, every padding, more channels than a k-block has, more
// tiles than a block has.
const ConvShape kShapes[] = {Shape(1, 4, 4, 16, 16, 1, 1),     Shape(2, 7, 5, 5, 7, 1, 1),
                             Shape(1, 3, 3, 4, 33, 0, 0),      Shape(1, 1, 2, 9, 4, 1, 2),
                             Shape(3, 6, 9, 20, 12, 2, 0),     Shape(2, 8, 8, 24, 48, 1, 1, 2),
                             Shape(1, 5, 10, 40, 20, 0, 1, 4), Shape(1, 5, 6, 400, 17, 1, 1),
                             Shape(1, 6, 5, 18, 410, 1, 1),    Shape(5, 23, 22, 8, 8, 1, 1)};

testing::Message Describe(const ConvImplementation& row, const ConvShape& s) {
  return testing::Message() << row.name << " " << s.batch << "x" << s.height << "x" << s.width
                            << "x" << s.channels << "->" << s.outputs << " pad " << s.pad_h << ","
                            << s.pad_w << " groups " << s.groups;
}

// calls visit(x index, w index, y index) for every product; indices count dense elements.
template <class Visit>
void ForEachProduct(const ConvShape& s, const Visit& visit) {
  const std::size_t channels = s.channels / s.groups;
  const std::size_t outputs = s.outputs / s.groups;
  for (std::size_t pixel = 0; pixel < s.out_pixels(); ++pixel) {
    const std::size_t oy = pixel / s.out_width() % s.out_height();
    const std::size_t ox = pixel % s.out_width();
    const std::size_t n = pixel / s.out_width() / s.out_height();
    for (std::size_t tap = 0; tap < 9; ++tap) {
      const std::size_t iy = oy + tap / 3 - s.pad_h;  // Too large if negative.
      const std::size_t ix = ox + tap % 3 - s.pad_w;
      if (iy >= s.height || ix >= s.width) continue;
      const std::size_t x = ((n * s.height + iy) * s.width + ix) * s.channels;
      for (std::size_t o = 0; o < s.outputs; ++o) {
        for (std::size_t c = 0; c < channels; ++c) {
          visit(x + o / outputs * channels + c, (tap * channels + c) * s.outputs + o,
                pixel * s.outputs + o);
        }
      }
    }
  }
}

// A matrix whose rows are slices of longer ones.
struct Slice {
  Slice(std::size_t rows_in, std::size_t columns_in, std::uint64_t seed)
      : rows(rows_in), columns(columns_in), stride(columns_in + 3), values(rows * stride) {
    Random random(seed);
    for (float& value : values) value = static_cast<float>(2 * random.Unit() - 1);
  }
  float& operator[](std::size_t i) { return values[i / columns * stride + i % columns]; }
  std::size_t size() const { return rows * columns; }
  // So that a read beyond the last row is one beyond the array.
  float* data() { return values.data(); }
  void Trim() { values.resize(values.size() - 3); }

  std::size_t rows;
  std::size_t columns;
  std::size_t stride;
  std::vector<float> values;
};

struct Problem {
  explicit Problem(const ConvShape& s)
      : shape(s),
        x(s.in_pixels(), s.channels, 1),
        w(9 * (s.channels / s.groups), s.outputs, 2),
        y(s.out_pixels(), s.outputs, 3),
        bias(1, s.outputs, 4) {
    w.stride = s.outputs;
    w.values.resize(w.size());
    x.Trim();
    y.Trim();
  }
  ConvShape shape;
  Slice x, w, y, bias;  // y and x are also their gradients.
};

// What lies beside the slices must be found again.
void ExpectNothingBeside(const Slice& got, const Slice& before) {
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    if (i % got.stride >= got.columns) {
      ASSERT_EQ(got.values[i], before.values[i]) << "beside a row";
    }
  }
}

struct Sums {
  explicit Sums(std::size_t n) : sum(n), size(n) {}
  void Add(std::size_t i, double a, double b) {
    sum[i] += a * b;
    size[i] += std::abs(a * b);
  }
  std::vector<double> sum, size;
};

void ExpectNear(Slice& got, const std::vector<double>& want, const Sums& sums, double error_max) {
  const double norm = *std::max_element(sums.size.begin(), sums.size.end()) + 1;
  double worst = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double error = std::abs(got[i] - want[i]);
    if (!(error <= worst)) worst = error;
  }
  EXPECT_LE(worst / norm, error_max);
}

template <class Args>
void RunPass(std::unique_ptr<ConvPass<Args>> pass, const Args& args, Parallel& parallel) {
  ASSERT_NE(pass, nullptr);
  constexpr std::size_t kGuard = 64;
  FloatScratch workspace;
  const std::size_t size = pass->workspace_floats();
  float* floats = workspace.Reserve(size + kGuard);
  std::fill(floats, floats + size + kGuard, std::numeric_limits<float>::quiet_NaN());
  std::fill(floats + size, floats + size + kGuard, 12.5F);
  pass->Run(args, floats, parallel);
  EXPECT_EQ(std::count(floats + size, floats + size + kGuard, 12.5F), kGuard);
}

Slice Forward(const ConvImplementation& row, Problem problem, bool bias, bool relu, Target target,
              Parallel& parallel) {
  const Slice before = problem.y;
  RunPass<ConvForwardArgs>(row.forward(problem.shape, {parallel.workers(), target}),
                           {.x = problem.x.data(),
                            .x_stride = problem.x.stride,
                            .w = problem.w.data(),
                            .bias = bias ? problem.bias.data() : nullptr,
                            .relu = relu,
                            .y = problem.y.data(),
                            .y_stride = problem.y.stride},
                           parallel);
  ExpectNothingBeside(problem.y, before);
  return problem.y;
}

Slice BackwardData(const ConvImplementation& row, Problem problem, bool accumulate, Target target,
                   Parallel& parallel) {
  const Slice before = problem.x;
  RunPass<ConvBackwardDataArgs>(row.backward_data(problem.shape, {parallel.workers(), target}),
                                {.dy = problem.y.data(),
                                 .dy_stride = problem.y.stride,
                                 .w = problem.w.data(),
                                 .dx = problem.x.data(),
                                 .dx_stride = problem.x.stride,
                                 .accumulate = accumulate},
                                parallel);
  ExpectNothingBeside(problem.x, before);
  return problem.x;
}

// dw and dbias, one after the other.
Slice BackwardWeights(const ConvImplementation& row, Problem problem, bool bias, bool accumulate,
                      Target target, Parallel& parallel) {
  RunPass<ConvBackwardWeightsArgs>(
      row.backward_weights(problem.shape, {parallel.workers(), target}),
      {.x = problem.x.data(),
       .x_stride = problem.x.stride,
       .dy = problem.y.data(),
       .dy_stride = problem.y.stride,
       .dw = problem.w.data(),
       .dbias = bias ? problem.bias.data() : nullptr,
       .accumulate = accumulate},
      parallel);
  problem.w.values.insert(problem.w.values.end(), problem.bias.values.begin(),
                          problem.bias.values.begin() + static_cast<int>(problem.bias.columns));
  return problem.w;
}

TEST(ConvWinogradTest, ForwardIsTheSumOfProducts) {
  Serial serial;
  for (const ConvShape& shape : kShapes) {
    Problem p(shape);
    Sums sums(p.y.size());
    ForEachProduct(
        shape, [&](std::size_t x, std::size_t w, std::size_t y) { sums.Add(y, p.x[x], p.w[w]); });
    for (const Variant& variant : kVariants) {
      for (const bool end : {false, true}) {
        SCOPED_TRACE(Describe(variant.implementation, shape));
        std::vector<double> want = sums.sum;
        for (std::size_t i = 0; end && i < want.size(); ++i) {
          want[i] = std::max(0.0, want[i] + p.bias[i % shape.outputs]);
        }
        Slice got = Forward(variant.implementation, p, end, end, BestTarget(), serial);
        ExpectNear(got, want, sums, variant.error_max);
      }
    }
  }
}

TEST(ConvWinogradTest, BackwardDataIsTheGradient) {
  Serial serial;
  for (const ConvShape& shape : kShapes) {
    Problem p(shape);
    Sums sums(p.x.size());
    ForEachProduct(
        shape, [&](std::size_t x, std::size_t w, std::size_t y) { sums.Add(x, p.y[y], p.w[w]); });
    for (const Variant& variant : kVariants) {
      for (const bool accumulate : {false, true}) {
        SCOPED_TRACE(Describe(variant.implementation, shape));
        std::vector<double> want = sums.sum;
        for (std::size_t i = 0; accumulate && i < want.size(); ++i) want[i] += p.x[i];
        Slice got = BackwardData(variant.implementation, p, accumulate, BestTarget(), serial);
        ExpectNear(got, want, sums, variant.error_max);
      }
    }
  }
}

TEST(ConvWinogradTest, BackwardWeightsIsTheGradient) {
  Serial serial;
  for (const ConvShape& shape : kShapes) {
    Problem p(shape);
    const std::size_t weights = p.w.size();
    Sums sums(weights + shape.outputs);
    ForEachProduct(
        shape, [&](std::size_t x, std::size_t w, std::size_t y) { sums.Add(w, p.x[x], p.y[y]); });
    for (std::size_t i = 0; i < p.y.size(); ++i) {
      sums.Add(weights + i % shape.outputs, 1.0, p.y[i]);
    }
    for (const Variant& variant : kVariants) {
      for (const bool accumulate : {false, true}) {
        SCOPED_TRACE(Describe(variant.implementation, shape));
        std::vector<double> want = sums.sum;
        for (std::size_t i = 0; accumulate && i < want.size(); ++i) {
          want[i] += i < weights ? p.w[i] : p.bias[i - weights];
        }
        Slice got =
            BackwardWeights(variant.implementation, p, true, accumulate, BestTarget(), serial);
        ExpectNear(got, want, sums, variant.error_max);
      }
    }
  }
}

TEST(ConvWinogradTest, BiasGradientIsOptional) {
  Serial serial;
  Problem p(kShapes[1]);
  const Slice with = BackwardWeights(kWinogradF4, p, true, false, BestTarget(), serial);
  const Slice without = BackwardWeights(kWinogradF4, p, false, false, BestTarget(), serial);
  for (std::size_t i = 0; i < p.w.size(); ++i) EXPECT_EQ(with.values[i], without.values[i]);
  for (std::size_t i = 0; i < p.bias.columns; ++i) {
    EXPECT_EQ(without.values[p.w.size() + i], p.bias[i]);
  }
}

TEST(ConvWinogradTest, NeitherTargetsNorWorkersShow) {
  for (const Variant& variant : kVariants) {
    const ConvImplementation& row = variant.implementation;
    for (const ConvShape& shape : kShapes) {
      const Problem p(shape);
      TestThreads one(1);
      const Slice y = Forward(row, p, true, true, Target::kRef, one);
      const Slice dx = BackwardData(row, p, true, Target::kRef, one);
      const Slice dw = BackwardWeights(row, p, true, true, Target::kRef, one);
      for (const Target target : SupportedTargets()) {
        for (std::size_t workers = 1; workers <= 3; ++workers) {
          if (target == Target::kRef && workers != 2) continue;
          SCOPED_TRACE(Describe(row, shape) << " " << target << " workers " << workers);
          TestThreads threads(workers);
          ExpectSameBits<float>(Forward(row, p, true, true, target, threads).values, y.values);
          ExpectSameBits<float>(BackwardData(row, p, true, target, threads).values, dx.values);
          ExpectSameBits<float>(BackwardWeights(row, p, true, true, target, threads).values,
                                dw.values);
        }
      }
    }
  }
}

TEST(ConvWinogradTest, ReluKeepsNan) {
  Serial serial;
  Problem p(kShapes[0]);
  p.x[0] = std::numeric_limits<float>::quiet_NaN();
  Slice y = Forward(kWinogradF2, p, false, true, BestTarget(), serial);
  EXPECT_TRUE(std::isnan(y[0]));
}

TEST(ConvWinogradTest, OtherShapesAreNotSupported) {
  const ConvShape good = kShapes[0];
  for (const Variant& variant : kVariants) {
    EXPECT_NE(variant.implementation.forward(good, {}), nullptr);
    for (auto member : {&ConvShape::kernel_h, &ConvShape::kernel_w, &ConvShape::stride_h,
                        &ConvShape::stride_w, &ConvShape::dilation_h, &ConvShape::dilation_w}) {
      ConvShape shape = good;
      shape.height = shape.width = 20;
      shape.*member += 1;
      EXPECT_EQ(variant.implementation.forward(shape, {}), nullptr);
      EXPECT_EQ(variant.implementation.backward_data(shape, {}), nullptr);
      EXPECT_EQ(variant.implementation.backward_weights(shape, {}), nullptr);
    }
    ConvShape depthwise = good;
    depthwise.groups = depthwise.channels;
    EXPECT_EQ(variant.implementation.forward(depthwise, {}), nullptr);
    ConvShape padded = good;
    padded.pad_h = 3;
    EXPECT_EQ(variant.implementation.forward(padded, {}), nullptr);
  }
}

}  // namespace
}  // namespace shoal::kernels
