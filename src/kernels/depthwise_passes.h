// What the two ways of computing a depthwise convolution, by pixels (conv_depthwise.cc) and by
// lines (conv_depthwise_lines.cc), have in common. Internal to kernels/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "kernels/conv.h"
#include "kernels/conv_depthwise_kernel.h"
#include "kernels/depthwise_line_window.h"

namespace shoal::kernels {

// Forward and backward by data alike: results are gathered from what they read.
struct DepthwiseGatherArgs {
  const float* in;
  std::size_t in_stride;
  const float* w;
  float* out;
  std::size_t out_stride;
  DepthwiseEnd end;
};

// A Gatherer has Run(DepthwiseGatherArgs, Parallel&).
template <class Gatherer>
class DepthwiseForwardBy final : public ConvForward {
 public:
  explicit DepthwiseForwardBy(Gatherer gatherer) : gatherer_(std::move(gatherer)) {}

  std::size_t workspace_floats() const override { return 0; }
  void Run(const ConvForwardArgs& args, float* /*workspace*/, Parallel& parallel) override {
    gatherer_.Run({.in = args.x,
                   .in_stride = args.x_stride,
                   .w = args.w,
                   .out = args.y,
                   .out_stride = args.y_stride,
                   .end = {.bias = args.bias, .relu = args.relu, .accumulate = false}},
                  parallel);
  }

 private:
  Gatherer gatherer_;
};

template <class Gatherer>
class DepthwiseBackwardDataBy final : public ConvBackwardData {
 public:
  explicit DepthwiseBackwardDataBy(Gatherer gatherer) : gatherer_(std::move(gatherer)) {}

  std::size_t workspace_floats() const override { return 0; }
  void Run(const ConvBackwardDataArgs& args, float* /*workspace*/, Parallel& parallel) override {
    gatherer_.Run({.in = args.dy,
                   .in_stride = args.dy_stride,
                   .w = args.w,
                   .out = args.dx,
                   .out_stride = args.dx_stride,
                   .end = {.bias = nullptr, .relu = false, .accumulate = args.accumulate}},
                  parallel);
  }

 private:
  Gatherer gatherer_;
};

// Rows of dy are cut into parts, each with a dw of its own, which are added in the end; how many
// depends on the shape alone, so that the bits depend on nothing else.
class DepthwiseParts {
 public:
  DepthwiseParts(const ConvShape& shape, Target target)
      : weights_(shape.kernel_h * shape.kernel_w * shape.channels),
        channels_(shape.channels),
        rows_(shape.batch * shape.out_height()),
        add_(ChooseDepthwiseKernel(target).add) {
    // What keeps a few cores busy; a part of fewer products would be mostly the adding of parts.
    constexpr std::size_t kPartsMax = 16;
    constexpr std::size_t kPartElements = 50000;
    const std::size_t wanted = rows_ * shape.out_width() * channels_ / kPartElements;
    const std::size_t most = std::max<std::size_t>(1, std::min(rows_, kPartsMax));
    part_rows_ = CeilDiv(rows_, std::clamp<std::size_t>(wanted, 1, most));
    count_ = CeilDiv(rows_, part_rows_);
  }

  std::size_t count() const { return count_; }
  // The rows of a part: [begin, end), of all images.
  std::size_t begin(std::size_t part) const { return part * part_rows_; }
  std::size_t end(std::size_t part) const { return std::min(rows_, (part + 1) * part_rows_); }

  // dw, and behind it dbias, in whole cache lines.
  std::size_t floats() const { return CeilDiv(weights_ + channels_, 16) * 16; }
  std::size_t bias_at() const { return weights_; }

  // `parts` follow one another.
  void Add(const float* parts, const ConvBackwardWeightsArgs& args) const {
    Add(parts, weights_, args.accumulate, args.dw);
    if (args.dbias != nullptr) Add(parts + bias_at(), channels_, args.accumulate, args.dbias);
  }

 private:
  void Add(const float* parts, std::size_t count, bool accumulate, float* out) const {
    if (!accumulate) std::copy_n(parts, count, out);
    for (std::size_t part = accumulate ? 0 : 1; part < count_; ++part) {
      add_(parts + part * floats(), count, out);
    }
  }

  std::size_t weights_;
  std::size_t channels_;
  std::size_t rows_;
  void (*add_)(const float* x, std::size_t channels, float* sum);
  std::size_t part_rows_ = 1;
  std::size_t count_ = 1;
};

}  // namespace shoal::kernels
