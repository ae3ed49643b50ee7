// What the depthwise convolution by lines (conv_depthwise_lines.cc) needs from an instruction set.
// Pixels are packed: kDepthwiseBlock channels of each, one after the other, so that pixels that are
// side by side are so in memory too and do not collide in the L1, whatever the number of channels.
// Each channel is one chain of fused multiply-adds in the order of the taps: the bits are the same
// on every target. Internal to kernels/.
#pragma once

#include <array>
#include <cstddef>

#include "kernels/conv_depthwise_kernel.h"
#include "kernels/target.h"

namespace shoal::kernels {

inline constexpr std::size_t kDepthwiseBlock = 16;  // Floats: a cache line.
inline constexpr std::size_t kDepthwiseRows = 3;

// Rows of packed pixels, each from the first pixel's first tap on.
struct DepthwiseRows {
  std::array<const float*, kDepthwiseRows> x;
  std::size_t size;
};

// A line of pixels of the result.
struct DepthwiseLine {
  DepthwiseRows rows;
  const float* w;  // Packed [rows][taps].
  std::size_t count;
  std::size_t channels;  // Of `out`, at most kDepthwiseBlock.
  float* out;
  std::size_t out_stride;
};
using DepthwiseLineFunction = void(const DepthwiseLine& line, const DepthwiseEnd& end);

// dw += the products of a packed line of dy with x.
struct DepthwiseWeightLine {
  DepthwiseRows rows;
  const float* dy;
  std::size_t count;
  float* dw;  // Packed [rows][taps].
};
using DepthwiseWeightLineFunction = void(const DepthwiseWeightLine& line);

struct DepthwiseLineKernel {
  // Packs `count` pixels, reading in order: block b of their channels goes to out + b ·
  // block_pitch. Channels that the last block lacks are 0.
  void (*pack)(const float* x, std::size_t stride, std::size_t count, std::size_t channels,
               float* out, std::size_t block_pitch);
  // sum[kDepthwiseBlock] += `count` packed pixels, one by one.
  void (*sum)(const float* x, std::size_t count, float* sum);
  // For `taps` in each row and pixels that are `step` taps apart, or null.
  DepthwiseLineFunction* (*line)(std::size_t taps, std::size_t step);
  DepthwiseWeightLineFunction* (*weight_line)(std::size_t taps, std::size_t step);
};

// Null if the target has none: `ref` works pixel by pixel.
const DepthwiseLineKernel* ChooseDepthwiseLineKernel(Target target);

}  // namespace shoal::kernels
