// Every row of the table, every pass: against a plain loop in double precision.
#include "kernels/conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/kernel_testing.h"
#include "tensor/aligned_buffer.h"

namespace shoal::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::string Describe(const ConvShape& s) {
  std::ostringstream out;
  out << s.batch << "x" << s.height << "x" << s.width << "x" << s.channels << " to " << s.outputs
      << " kernel " << s.kernel_h << "x" << s.kernel_w << " stride " << s.stride_h << "x"
      << s.stride_w << " pad " << s.pad_h << "x" << s.pad_w << " dilation " << s.dilation_h << "x"
      << s.dilation_w << " groups " << s.groups;
  return out.str();
}

// Odd sizes, every parameter at work, rectangles; what some row is specialised for.
std::vector<ConvShape> Shapes() {
  std::vector<ConvShape> shapes;
  const auto add = [&](const ConvShape& shape) { shapes.push_back(shape); };
  add({.batch = 1, .height = 1, .width = 1, .channels = 1, .outputs = 1});
  add({.batch = 2, .height = 5, .width = 7, .channels = 13, .outputs = 19});
  add({.batch = 3,
       .height = 7,
       .width = 6,
       .channels = 9,
       .outputs = 5,
       .stride_h = 2,
       .stride_w = 2});
  add({.batch = 2,
       .height = 6,
       .width = 5,
       .channels = 8,
       .outputs = 8,
       .stride_h = 1,
       .stride_w = 3,
       .pad_h = 1,
       .pad_w = 2});
  for (const std::size_t stride : {1U, 2U}) {
    for (const std::size_t channels : {3U, 16U, 33U}) {
      add({.batch = 2,
           .height = 9,
           .width = 8,
           .channels = channels,
           .outputs = 18,
           .kernel_h = 3,
           .kernel_w = 3,
           .stride_h = stride,
           .stride_w = stride,
           .pad_h = 1,
           .pad_w = 1});
    }
  }
  // First layers: many taps of few channels.
  add({.batch = 1,
       .height = 19,
       .width = 21,
       .channels = 3,
       .outputs = 17,
       .kernel_h = 7,
       .kernel_w = 7,
       .stride_h = 2,
       .stride_w = 2,
       .pad_h = 3,
       .pad_w = 3});
  add({.batch = 2,
       .height = 23,
       .width = 27,
       .channels = 3,
       .outputs = 9,
       .kernel_h = 11,
       .kernel_w = 11,
       .stride_h = 4,
       .stride_w = 4});
  // Inception's rectangles, and one that is larger than the image.
  add({.batch = 1,
       .height = 8,
       .width = 9,
       .channels = 12,
       .outputs = 20,
       .kernel_h = 1,
       .kernel_w = 7,
       .pad_w = 3});
  add({.batch = 1,
       .height = 9,
       .width = 8,
       .channels = 12,
       .outputs = 20,
       .kernel_h = 7,
       .kernel_w = 1,
       .pad_h = 3});
  add({.batch = 1,
       .height = 2,
       .width = 3,
       .channels = 4,
       .outputs = 6,
       .kernel_h = 5,
       .kernel_w = 5,
       .pad_h = 2,
       .pad_w = 2});
  add({.batch = 2,
       .height = 10,
       .width = 11,
       .channels = 6,
       .outputs = 7,
       .kernel_h = 3,
       .kernel_w = 2,
       .stride_h = 2,
       .stride_w = 1,
       .pad_h = 2,
       .pad_w = 1,
       .dilation_h = 2,
       .dilation_w = 3});
  add({.batch = 1,
       .height = 11,
       .width = 12,
       .channels = 5,
       .outputs = 4,
       .kernel_h = 3,
       .kernel_w = 3,
       .stride_h = 3,
       .stride_w = 2,
       .pad_h = 4,
       .pad_w = 4,
       .dilation_h = 2,
       .dilation_w = 2});
  // More padding than kernel: whole rows of outputs see nothing.
  add({.batch = 1,
       .height = 4,
       .width = 4,
       .channels = 3,
       .outputs = 5,
       .kernel_h = 2,
       .kernel_w = 2,
       .pad_h = 3,
       .pad_w = 3});
  add({.batch = 2,
       .height = 7,
       .width = 7,
       .channels = 12,
       .outputs = 18,
       .kernel_h = 3,
       .kernel_w = 3,
       .pad_h = 1,
       .pad_w = 1,
       .groups = 3});
  add({.batch = 2,
       .height = 8,
       .width = 7,
       .channels = 10,
       .outputs = 20,
       .kernel_h = 5,
       .kernel_w = 5,
       .stride_h = 2,
       .stride_w = 2,
       .pad_h = 2,
       .pad_w = 2,
       .groups = 2});
  // k of several blocks, pixels of several parts.
  add({.batch = 1,
       .height = 5,
       .width = 5,
       .channels = 90,
       .outputs = 35,
       .kernel_h = 3,
       .kernel_w = 3,
       .pad_h = 1,
       .pad_w = 1});
  add({.batch = 2,
       .height = 30,
       .width = 31,
       .channels = 5,
       .outputs = 3,
       .kernel_h = 3,
       .kernel_w = 3,
       .pad_h = 1,
       .pad_w = 1});
  // Few images of many channels: some rows cut those.
  add({.batch = 1,
       .height = 6,
       .width = 5,
       .channels = 64,
       .outputs = 96,
       .kernel_h = 3,
       .kernel_w = 3,
       .pad_h = 1,
       .pad_w = 1});
  add({.batch = 2,
       .height = 4,
       .width = 4,
       .channels = 64,
       .outputs = 128,
       .kernel_h = 3,
       .kernel_w = 3,
       .pad_h = 1,
       .pad_w = 1,
       .groups = 2});
  add({.batch = 1,
       .height = 6,
       .width = 5,
       .channels = 64,
       .outputs = 64,
       .kernel_h = 3,
       .kernel_w = 3,
       .stride_h = 2,
       .stride_w = 2,
       .pad_h = 1,
       .pad_w = 1,
       .groups = 64});
  // Many images of one pixel or a few.
  add({.batch = 34, .height = 2, .width = 1, .channels = 8, .outputs = 8});
  // Depthwise.
  for (const std::size_t stride : {1U, 2U}) {
    for (const std::size_t channels : {5U, 16U, 37U}) {
      add({.batch = 2,
           .height = 9,
           .width = 10,
           .channels = channels,
           .outputs = channels,
           .kernel_h = 3,
           .kernel_w = 3,
           .stride_h = stride,
           .stride_w = stride,
           .pad_h = 1,
           .pad_w = 1,
           .groups = channels});
    }
  }
  add({.batch = 1,
       .height = 12,
       .width = 9,
       .channels = 19,
       .outputs = 19,
       .kernel_h = 5,
       .kernel_w = 3,
       .stride_h = 2,
       .stride_w = 1,
       .pad_h = 2,
       .dilation_w = 2,
       .groups = 19});
  add({.batch = 3,
       .height = 3,
       .width = 3,
       .channels = 8,
       .outputs = 8,
       .kernel_h = 3,
       .kernel_w = 3,
       .pad_h = 1,
       .pad_w = 1,
       .groups = 8});
  add({.batch = 3,
       .height = 1,
       .width = 2,
       .channels = 9,
       .outputs = 9,
       .kernel_h = 3,
       .kernel_w = 3,
       .stride_h = 2,
       .stride_w = 2,
       .pad_h = 1,
       .pad_w = 1,
       .groups = 9});
  return shapes;
}

// Pixels that are a slice of wider ones: what lies beside them must be found again.
struct Blob {
  Blob(std::size_t pixels, std::size_t channels, bool dense, std::uint64_t seed)
      : stride(dense ? channels : channels + 3), size(channels), values(pixels * stride) {
    Random random(seed);
    for (float& value : values) value = static_cast<float>(2 * random.Unit() - 1);
  }
  float At(std::size_t pixel, std::size_t channel) const {
    return values[pixel * stride + channel];
  }

  std::size_t stride;
  std::size_t size;
  std::vector<float> values;
};

// What a naive loop says, and how large the numbers were that it added: roundings are relative to
// that.
struct Sums {
  explicit Sums(std::size_t count) : value(count), magnitude(count) {}
  void Add(std::size_t i, double term) {
    value[i] += term;
    magnitude[i] += std::abs(term);
  }
  std::vector<double> value;
  std::vector<double> magnitude;
};

// Calls f(x pixel, x channel, weight, y pixel, y channel) for every product of a convolution.
template <class Function>
void ForEachProduct(const ConvShape& s, const Function& f) {
  const std::size_t group_channels = s.channels / s.groups;
  const std::size_t group_outputs = s.outputs / s.groups;
  std::size_t y_pixel = 0;
  for (std::size_t image = 0; image < s.batch; ++image) {
    for (std::size_t i = 0; i < s.out_height(); ++i) {
      for (std::size_t j = 0; j < s.out_width(); ++j, ++y_pixel) {
        for (std::size_t tap = 0; tap < s.kernel_h * s.kernel_w; ++tap) {
          const std::size_t y = i * s.stride_h + tap / s.kernel_w * s.dilation_h;
          const std::size_t x = j * s.stride_w + tap % s.kernel_w * s.dilation_w;
          if (y < s.pad_h || y - s.pad_h >= s.height) continue;
          if (x < s.pad_w || x - s.pad_w >= s.width) continue;
          const std::size_t x_pixel = (image * s.height + y - s.pad_h) * s.width + x - s.pad_w;
          for (std::size_t c = 0; c < group_channels; ++c) {
            for (std::size_t o = 0; o < s.outputs; ++o) {
              f(x_pixel, o / group_outputs * group_channels + c,
                (tap * group_channels + c) * s.outputs + o, y_pixel, o);
            }
          }
        }
      }
    }
  }
}

// A pass run by a row on some target and workers.
struct Way {
  const ConvImplementation& row;
  Target target;
  std::size_t workers;
};

// All that a shape's passes read and write.
class Problem {
 public:
  Problem(const ConvShape& shape, bool dense)
      : shape_(shape),
        x_(shape.in_pixels(), shape.channels, dense, 1),
        y_(shape.out_pixels(), shape.outputs, dense, 2),
        w_(shape.weights(), 1, true, 3),
        bias_(shape.outputs, 1, true, 4) {}

  // False if the row has no such pass for this shape.
  bool Forward(const Way& way, bool plain, std::vector<float>& y) const {
    if (way.row.forward == nullptr) return false;
    const auto pass = way.row.forward(shape_, {.workers = way.workers, .target = way.target});
    if (pass == nullptr) return false;
    y = y_.values;
    Run(*pass, way,
        ConvForwardArgs{.x = x_.values.data(),
                        .x_stride = x_.stride,
                        .w = w_.values.data(),
                        .bias = plain ? nullptr : bias_.values.data(),
                        .relu = !plain,
                        .y = y.data(),
                        .y_stride = y_.stride});
    return true;
  }

  bool BackwardData(const Way& way, bool accumulate, std::vector<float>& dx) const {
    if (way.row.backward_data == nullptr) return false;
    const auto pass = way.row.backward_data(shape_, {.workers = way.workers, .target = way.target});
    if (pass == nullptr) return false;
    dx = x_.values;
    Run(*pass, way,
        ConvBackwardDataArgs{.dy = y_.values.data(),
                             .dy_stride = y_.stride,
                             .w = w_.values.data(),
                             .dx = dx.data(),
                             .dx_stride = x_.stride,
                             .accumulate = accumulate});
    return true;
  }

  // dw, and behind it dbias.
  bool BackwardWeights(const Way& way, bool accumulate, bool bias, std::vector<float>& dw) const {
    if (way.row.backward_weights == nullptr) return false;
    const auto pass =
        way.row.backward_weights(shape_, {.workers = way.workers, .target = way.target});
    if (pass == nullptr) return false;
    dw = w_.values;
    dw.insert(dw.end(), bias_.values.begin(), bias_.values.end());
    Run(*pass, way,
        ConvBackwardWeightsArgs{.x = x_.values.data(),
                                .x_stride = x_.stride,
                                .dy = y_.values.data(),
                                .dy_stride = y_.stride,
                                .dw = dw.data(),
                                .dbias = bias ? dw.data() + w_.values.size() : nullptr,
                                .accumulate = accumulate});
    return true;
  }

  void ExpectForward(const std::vector<float>& got, bool plain) const {
    Sums sums(shape_.out_pixels() * shape_.outputs);
    for (std::size_t i = 0; i < sums.value.size() && !plain; ++i) {
      sums.Add(i, bias_.values[i % shape_.outputs]);
    }
    ForEachProduct(
        shape_, [&](std::size_t xp, std::size_t c, std::size_t w, std::size_t yp, std::size_t o) {
          sums.Add(yp * shape_.outputs + o, double{x_.At(xp, c)} * w_.values[w]);
        });
    for (double& value : sums.value) value = plain ? value : std::max(value, 0.0);
    Compare(got, y_, sums);
  }

  void ExpectBackwardData(const std::vector<float>& got, bool accumulate) const {
    Sums sums(shape_.in_pixels() * shape_.channels);
    for (std::size_t i = 0; i < sums.value.size() && accumulate; ++i) {
      sums.Add(i, x_.At(i / shape_.channels, i % shape_.channels));
    }
    ForEachProduct(
        shape_, [&](std::size_t xp, std::size_t c, std::size_t w, std::size_t yp, std::size_t o) {
          sums.Add(xp * shape_.channels + c, double{y_.At(yp, o)} * w_.values[w]);
        });
    Compare(got, x_, sums);
  }

  void ExpectBackwardWeights(const std::vector<float>& got, bool accumulate, bool bias) const {
    const std::size_t weights = shape_.weights();
    Sums sums(got.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const bool kept = i >= weights && !bias;
      if (accumulate || kept) {
        sums.Add(i, i < weights ? w_.values[i] : bias_.values[i - weights]);
      }
    }
    ForEachProduct(
        shape_, [&](std::size_t xp, std::size_t c, std::size_t w, std::size_t yp, std::size_t o) {
          sums.Add(w, double{x_.At(xp, c)} * y_.At(yp, o));
        });
    for (std::size_t i = 0; i < shape_.out_pixels() * shape_.outputs && bias; ++i) {
      sums.Add(weights + i % shape_.outputs, y_.At(i / shape_.outputs, i % shape_.outputs));
    }
    Compare(got, Blob(got.size(), 1, true, 0), sums);
  }

 private:
  template <class Args>
  void Run(ConvPass<Args>& pass, const Way& way, const Args& args) const {
    // Whatever lies in the workspace must not matter, nor what lies behind it change.
    constexpr std::size_t kBehind = 16;
    const std::size_t floats = pass.workspace_floats();
    Result<AlignedBuffer> buffer = AlignedBuffer::Make((floats + kBehind) * sizeof(float));
    ASSERT_TRUE(buffer.ok());
    auto* workspace = reinterpret_cast<float*>(buffer->data());
    std::fill_n(workspace, floats, kNan);
    std::fill_n(workspace + floats, kBehind, 7.0F);
    TestThreads threads(way.workers);
    pass.Run(args, workspace, threads);
    for (std::size_t i = 0; i < kBehind; ++i) ASSERT_EQ(workspace[floats + i], 7.0F);
  }

  // A factor for Winograd's transforms, which lose some bits.
  static constexpr double kTolerance = 2e-5;

  static void Compare(const std::vector<float>& got, const Blob& blob, const Sums& want) {
    // One output may have small terms where a neighbour that it shares a transform with has not.
    const double largest = *std::max_element(want.magnitude.begin(), want.magnitude.end());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::size_t channel = i % blob.stride;
      if (channel >= blob.size) {
        ASSERT_EQ(got[i], blob.values[i]) << "beside the blob, at " << i;
        continue;
      }
      const std::size_t at = i / blob.stride * blob.size + channel;
      ASSERT_NEAR(got[i], want.value[at], kTolerance * largest + 1e-30) << "element " << at;
    }
  }

  ConvShape shape_;
  Blob x_;
  Blob y_;
  Blob w_;
  Blob bias_;
};

// The table, with the row that is there only if asked for and starts quickly.
std::span<const ConvImplementation> Rows() {
  const Status status = EnableConvImplementation("im2col-openblas");
  EXPECT_TRUE(status.ok() || status.code() == Code::kUnavailable) << status.ToString();
  return ConvImplementations();
}

struct Candidates {
  std::span<const ConvImplementation> rows;
  std::vector<ConvShape> shapes;
};

// run(way, variant, result) and expect(result, variant) for every shape, row and target, dense and
// sliced blobs; one worker's bits for every number of workers.
template <class Run, class Expect>
void CheckPass(const Candidates& candidates, const Run& run, const Expect& expect,
               std::size_t variants) {
  for (const ConvShape& shape : candidates.shapes) {
    for (const bool dense : {true, false}) {
      const Problem problem(shape, dense);
      for (const ConvImplementation& row : candidates.rows) {
        for (const Target target : SupportedTargets()) {
          for (std::size_t variant = 0; variant < variants; ++variant) {
            SCOPED_TRACE(testing::Message()
                         << Describe(shape) << (dense ? "" : " sliced") << ", " << row.name
                         << " on " << target << ", variant " << variant);
            std::vector<float> alone;
            if (!run(problem, Way{row, target, 1}, variant, alone)) continue;
            expect(problem, alone, variant);
            if (testing::Test::HasFailure()) return;
            for (const std::size_t workers : {2U, 3U}) {
              std::vector<float> together;
              ASSERT_TRUE(run(problem, Way{row, target, workers}, variant, together));
              ExpectSameBits<float>(together, alone);
            }
          }
        }
      }
    }
  }
}

void CheckForward(const Candidates& candidates) {
  CheckPass(
      candidates,
      [](const Problem& problem, const Way& way, std::size_t variant, std::vector<float>& y) {
        return problem.Forward(way, variant == 0, y);
      },
      [](const Problem& problem, const std::vector<float>& y, std::size_t variant) {
        problem.ExpectForward(y, variant == 0);
      },
      2);
}

void CheckBackwardData(const Candidates& candidates) {
  CheckPass(
      candidates,
      [](const Problem& problem, const Way& way, std::size_t variant, std::vector<float>& dx) {
        return problem.BackwardData(way, variant == 1, dx);
      },
      [](const Problem& problem, const std::vector<float>& dx, std::size_t variant) {
        problem.ExpectBackwardData(dx, variant == 1);
      },
      2);
}

void CheckBackwardWeights(const Candidates& candidates) {
  CheckPass(
      candidates,
      [](const Problem& problem, const Way& way, std::size_t variant, std::vector<float>& dw) {
        return problem.BackwardWeights(way, variant % 2 == 1, variant < 2, dw);
      },
      [](const Problem& problem, const std::vector<float>& dw, std::size_t variant) {
        problem.ExpectBackwardWeights(dw, variant % 2 == 1, variant < 2);
      },
      3);
}

// All of them, or where an emulator runs the test some of each kind.
std::vector<ConvShape> SomeShapes() {
  std::vector<ConvShape> some;
  const std::vector<ConvShape> all = Shapes();
  for (std::size_t i = 0; i < all.size(); i += SHOAL_CONV_TEST_STEP) some.push_back(all[i]);
  return some;
}

TEST(ConvTest, Forward) { CheckForward({Rows(), SomeShapes()}); }
TEST(ConvTest, BackwardData) { CheckBackwardData({Rows(), SomeShapes()}); }
TEST(ConvTest, BackwardWeights) { CheckBackwardWeights({Rows(), SomeShapes()}); }

TEST(ConvTest, OtherPeoplesLibrariesWithManyWeights) {
  std::span<const ConvImplementation> rows = Rows();
  while (!rows.empty() && rows.front().portable) rows = rows.subspan(1);
  const Candidates candidates{
      rows, {{.batch = 2, .height = 1, .width = 1, .channels = 512, .outputs = 2048}}};
  CheckForward(candidates);
  CheckBackwardData(candidates);
  CheckBackwardWeights(candidates);
}

TEST(ConvTest, OpenCl) {
  if (const Status status = EnableConvImplementation("opencl"); !status.ok()) {
    EXPECT_EQ(status.code(), Code::kUnavailable);
    GTEST_SKIP() << status.message();
  }
  // Some of the shapes: the first time, kernels are compiled for each.
  Candidates candidates{ConvImplementations().last(1), {}};
  ASSERT_EQ(candidates.rows.front().name, "opencl");
  const std::vector<ConvShape> shapes = Shapes();
  for (std::size_t i = 0; i < shapes.size(); i += 3) candidates.shapes.push_back(shapes[i]);
  CheckForward(candidates);
  CheckBackwardData(candidates);
  CheckBackwardWeights(candidates);
}

TEST(ConvTest, TheFirstRowHasEveryPassOfEveryShape) {
  const ConvImplementation& first = ConvImplementations().front();
  EXPECT_EQ(first.name, "implicit-gemm");
  EXPECT_TRUE(first.portable);
  for (const ConvShape& shape : Shapes()) {
    EXPECT_NE(first.forward(shape, {}), nullptr) << Describe(shape);
    EXPECT_NE(first.backward_data(shape, {}), nullptr) << Describe(shape);
    EXPECT_NE(first.backward_weights(shape, {}), nullptr) << Describe(shape);
  }
}

TEST(ConvTest, RowsAreAddedOnceAndStayWhereTheyAre) {
  const ConvImplementation* first = &ConvImplementations().front();
  const std::size_t count = Rows().size();
  EXPECT_EQ(Rows().size(), count);
  EXPECT_EQ(&Rows().front(), first);
  EXPECT_TRUE(EnableConvImplementation("implicit-gemm").ok());
  EXPECT_EQ(EnableConvImplementation("cudnn").code(), Code::kNotFound);
}

TEST(ConvTest, ANanStaysOne) {
  const ConvShape shape{.batch = 1,
                        .height = 3,
                        .width = 3,
                        .channels = 4,
                        .outputs = 4,
                        .kernel_h = 3,
                        .kernel_w = 3,
                        .pad_h = 1,
                        .pad_w = 1};
  std::vector<float> x(36, 1.0F);
  const std::vector<float> w(shape.weights(), 1.0F);
  x[16] = kNan;  // The middle pixel, which every output sees.
  for (const ConvImplementation& row : Rows()) {
    if (row.forward == nullptr) continue;
    const auto pass = row.forward(shape, {});
    if (pass == nullptr) continue;
    std::vector<float> y(36);
    Serial serial;
    Result<AlignedBuffer> workspace =
        AlignedBuffer::Make(pass->workspace_floats() * sizeof(float) + 64);
    ASSERT_TRUE(workspace.ok());
    pass->Run(
        {.x = x.data(), .x_stride = 4, .w = w.data(), .relu = true, .y = y.data(), .y_stride = 4},
        reinterpret_cast<float*>(workspace->data()), serial);
    for (const float value : y) EXPECT_TRUE(std::isnan(value)) << row.name;
  }
}

}  // namespace
}  // namespace shoal::kernels
