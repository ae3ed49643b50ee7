// 2-D convolution, forward and backward, as a table of implementations: several ways to compute
// the same thing, of which the fastest on this device for a shape is measured and kept
// (conv_tuner.h).
//
// Activations are NHWC: a matrix of N·H·W pixels by channels, whose rows lie `stride` floats apart
// (at least the number of channels: a blob may be a slice of the channels of a wider one, which is
// how Concat costs nothing). Weights are [kernel_h, kernel_w, channels / groups, outputs], dense:
// the columns of group g are outputs [g · outputs / groups, (g + 1) · outputs / groups), and it
// reads channels [g · channels / groups, …). A depthwise convolution has groups == channels.
//
// Results of two implementations differ by rounding; those of one do not depend on the number of
// workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/parallel.h"
#include "base/status.h"
#include "kernels/target.h"

namespace shoal::kernels {

// A value; what an implementation is chosen and measured for.
struct ConvShape {
  std::size_t batch = 0;
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t channels = 0;
  std::size_t outputs = 0;
  std::size_t kernel_h = 1;
  std::size_t kernel_w = 1;
  std::size_t stride_h = 1;
  std::size_t stride_w = 1;
  std::size_t pad_h = 0;
  std::size_t pad_w = 0;
  std::size_t dilation_h = 1;
  std::size_t dilation_w = 1;
  std::size_t groups = 1;  // Divides channels and outputs.

  // REQUIRES, for all: the dilated kernel fits the padded image.
  std::size_t out_height() const {
    return (height + 2 * pad_h - (dilation_h * (kernel_h - 1) + 1)) / stride_h + 1;
  }
  std::size_t out_width() const {
    return (width + 2 * pad_w - (dilation_w * (kernel_w - 1) + 1)) / stride_w + 1;
  }
  std::size_t in_pixels() const { return batch * height * width; }
  std::size_t out_pixels() const { return batch * out_height() * out_width(); }
  std::size_t weights() const { return kernel_h * kernel_w * (channels / groups) * outputs; }
  // Of one pass, forward or backward.
  double multiply_adds() const {
    return static_cast<double>(out_pixels()) * static_cast<double>(weights());
  }

  bool operator==(const ConvShape&) const = default;
};

// y = conv(x, w) + bias, with ReLU c < 0 ? 0 : c (a NaN stays one).
struct ConvForwardArgs {
  const float* x = nullptr;
  std::size_t x_stride = 0;
  const float* w = nullptr;
  const float* bias = nullptr;  // [outputs], or none.
  bool relu = false;
  float* y = nullptr;
  std::size_t y_stride = 0;
};

// dx = the gradient by x; with `accumulate`, dx += it.
struct ConvBackwardDataArgs {
  const float* dy = nullptr;
  std::size_t dy_stride = 0;
  const float* w = nullptr;
  float* dx = nullptr;
  std::size_t dx_stride = 0;
  bool accumulate = false;
};

// dw and dbias = the gradients by w and bias; with `accumulate`, += them.
struct ConvBackwardWeightsArgs {
  const float* x = nullptr;
  std::size_t x_stride = 0;
  const float* dy = nullptr;
  std::size_t dy_stride = 0;
  float* dw = nullptr;
  float* dbias = nullptr;  // Or none.
  bool accumulate = false;
};

// One pass of one shape, ready to run: made once when a network is built, run every step. Run
// allocates nothing; it computes on `parallel`, in `workspace`, which holds workspace_floats(),
// starts on a cache line, and need not be kept between runs. One run at a time.
template <class Args>
class ConvPass {
 public:
  virtual ~ConvPass() = default;
  virtual std::size_t workspace_floats() const = 0;
  virtual void Run(const Args& args, float* workspace, Parallel& parallel) = 0;
};
using ConvForward = ConvPass<ConvForwardArgs>;
using ConvBackwardData = ConvPass<ConvBackwardDataArgs>;
using ConvBackwardWeights = ConvPass<ConvBackwardWeightsArgs>;

// How passes are made. `workers` is that of the Parallel they will run on.
struct ConvOptions {
  std::size_t workers = 1;
  Target target = BestTarget();
};

// A row of the table. A factory returns null for shapes that it does not support (and is null
// itself for a pass that it does not have).
struct ConvImplementation {
  std::string_view name;  // "implicit-gemm"; part of the tuner's file and of snapshots.
  bool portable;          // Ours, on every device; what `--backend portable` is limited to.
  std::unique_ptr<ConvForward> (*forward)(const ConvShape&, const ConvOptions&);
  std::unique_ptr<ConvBackwardData> (*backward_data)(const ConvShape&, const ConvOptions&);
  std::unique_ptr<ConvBackwardWeights> (*backward_weights)(const ConvShape&, const ConvOptions&);
};

// All rows that this build has and this device can run; the first one supports every shape and
// pass ("implicit-gemm"). Rows stay where they are.
std::span<const ConvImplementation> ConvImplementations();

// Adds a row that is there only if asked for, because its library takes time or memory to start
// and is not the fastest: "im2col-openblas", "opencl". OK if it is there; kNotFound if there is no
// such row; kUnavailable, with what is missing, if this build or device cannot run it. Not while
// another thread reads the table.
Status EnableConvImplementation(std::string_view name);

}  // namespace shoal::kernels
