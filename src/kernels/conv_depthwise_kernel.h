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

struct DepthwiseKernel {
  DepthwisePixel* pixel;
  DepthwiseWeightPixel* weight_pixel;
  // sum[channels] += x[channels]
  void (*add)(const float* x, std::size_t channels, float* sum);
};

DepthwiseKernel ChooseDepthwiseKernel(Target target);

}  // namespace shoal::kernels
