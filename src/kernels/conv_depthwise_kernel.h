// What a depthwise convolution (conv_depthwise.cc) needs from an instruction set. Vector lanes are
// channels, and each channel is one chain of fused multiply-adds in the order given: the bits are
// the same on every target. Internal to kernels/.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/target.h"

namespace shoal::kernels {

// What happens to a sum on its way into memory.
struct DepthwiseEnd {
  const float* bias = nullptr;  // [channels], or none.
  bool relu = false;
  bool accumulate = false;
};

struct DepthwiseTap {
  const float* x;  // [channels]
  const float* w;
};

// out[channels] = the taps' x · w.
using DepthwisePixel = void(std::span<const DepthwiseTap> taps, std::size_t channels,
                            const DepthwiseEnd& end, float* out);

// dw[channels] += x[channels] · dy, for each tap.
struct DepthwiseWeightTap {
  const float* x;
  float* dw;
};
using DepthwiseWeightPixel = void(std::span<const DepthwiseWeightTap> taps, const float* dy,
                                  std::size_t channels);

// `count` pixels side by side, whose taps lie side by side in each of some rows: rows[r].x is the
// first tap of the first pixel.
struct DepthwiseRun {
  std::span<const DepthwiseTap> rows;
  std::size_t x_stride;  // Between taps, in floats.
  std::ptrdiff_t w_stride;
  std::size_t count;
  std::size_t channels;
  float* out;
  std::size_t out_stride;
};
using DepthwiseRunFunction = void(const DepthwiseRun& run, const DepthwiseEnd& end);

// The same for the gradient by weights: rows[r].dw is that of the first tap.
struct DepthwiseWeightRun {
  std::span<const DepthwiseWeightTap> rows;
  std::size_t x_stride;
  std::size_t dw_stride;
  std::size_t count;
  std::size_t channels;
  const float* dy;
  std::size_t dy_stride;
};
using DepthwiseWeightRunFunction = void(const DepthwiseWeightRun& run);

struct DepthwiseKernel {
  DepthwisePixel* pixel;
  DepthwiseWeightPixel* weight_pixel;
  // sum[channels] += x[channels]
  void (*add)(const float* x, std::size_t channels, float* sum);
  // For `taps` in each row and pixels that are `step` taps apart, or null.
  DepthwiseRunFunction* (*run)(std::size_t taps, std::size_t step);
  DepthwiseWeightRunFunction* (*weight_run)(std::size_t taps, std::size_t step);
};

DepthwiseKernel ChooseDepthwiseKernel(Target target);

}  // namespace shoal::kernels
