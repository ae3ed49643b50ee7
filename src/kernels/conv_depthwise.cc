#include "kernels/conv_depthwise.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "kernels/chunks.h"
#include "kernels/conv_depthwise_kernel.h"
#include "kernels/conv_depthwise_lines.h"
#include "kernels/conv_patches.h"
#include "kernels/conv_phases.h"
#include "kernels/depthwise_line_window.h"

namespace shoal::kernels {
namespace {

bool IsDepthwise(const ConvShape& shape) {
  return shape.groups == shape.channels && shape.outputs == shape.channels;
}

// The coordinate that a tap reads, or none.
std::ptrdiff_t Coordinate(const PatchAxis& axis, std::size_t position, std::size_t tap) {
  const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(position * axis.step) + axis.offsets[tap];
  return at < static_cast<std::ptrdiff_t>(axis.size) ? at : -1;
}

// A row of positions and the taps of one of them. `Tap` holds a pointer to x and one to weights.
template <class Tap, class Weight>
class RowTaps {
 public:
  // `room` holds a tap for each of the patch.
  RowTaps(const ConvPhase& phase, std::size_t channels, const float* x, std::size_t x_stride,
          Weight* w, std::span<Tap> room)
      : phase_(phase), channels_(channels), x_(x), x_stride_(x_stride), w_(w), room_(room) {}

  // The taps of one position that are inside the image.
  std::span<const Tap> Of(std::size_t row, std::size_t column) {
    const PatchShape& patches = phase_.patches;
    std::size_t count = 0;
    for (std::size_t r = 0; r < patches.rows.offsets.size(); ++r) {
      for (std::size_t c = 0; c < patches.columns.offsets.size(); ++c) {
        const std::ptrdiff_t x = Coordinate(patches.columns, column, c);
        if (x >= 0 && Add(row, r, static_cast<std::size_t>(x), c, count)) ++count;
      }
    }
    return room_.first(count);
  }

 private:
  // `row` counts those of all images.
  bool Add(std::size_t row, std::size_t r, std::size_t x, std::size_t c, std::size_t at) {
    const PatchAxis& rows = phase_.patches.rows;
    const PatchAxis& columns = phase_.patches.columns;
    const std::ptrdiff_t y = Coordinate(rows, row % rows.positions, r);
    if (y < 0) return false;
    const std::size_t pixel =
        (row / rows.positions * rows.size + static_cast<std::size_t>(y)) * columns.size + x;
    const std::size_t tap = phase_.taps[r * columns.offsets.size() + c];
    room_[at] = {x_ + pixel * x_stride_, w_ + tap * channels_};
    return true;
  }

  const ConvPhase& phase_;
  std::size_t channels_;
  const float* x_;
  std::size_t x_stride_;
  Weight* w_;
  std::span<Tap> room_;
};

// Forward and backward by data alike: each pixel of the result from the taps that it reads.
class Gatherer {
 public:
  struct Args {
    const float* in;
    std::size_t in_stride;
    const float* w;
    float* out;
    std::size_t out_stride;
    DepthwiseEnd end;
  };

  Gatherer(std::size_t channels, std::vector<ConvPhase> phases, const ConvOptions& options)
      : channels_(channels),
        kernel_(ChooseDepthwiseKernel(options.target)),
        phases_(std::move(phases)),
        taps_(options.workers) {
    for (const ConvPhase& phase : phases_) {
      for (std::vector<DepthwiseTap>& taps : taps_) {
        taps.resize(std::max(taps.size(), phase.taps.size()));
      }
    }
  }

  void Run(const Args& args, Parallel& parallel) {
    SHOAL_CHECK_EQ(parallel.workers(), taps_.size());
    for (const ConvPhase& phase : phases_) {
      if (phase.patches.positions() == 0) continue;
      const std::size_t rows = phase.patches.batch * phase.patches.rows.positions;
      const std::size_t grain = RowsPerTask(phase.patches.columns.positions * channels_);
      parallel.Run(CeilDiv(rows, grain), [&](std::size_t task, std::size_t worker) {
        RowTaps<DepthwiseTap, const float> taps(phase, channels_, args.in, args.in_stride, args.w,
                                                taps_[worker]);
        const std::size_t end = std::min(rows, (task + 1) * grain);
        for (std::size_t row = task * grain; row < end; ++row) RunRow(phase, args, row, taps);
      });
    }
  }

 private:
  void RunRow(const ConvPhase& phase, const Args& args, std::size_t row,
              RowTaps<DepthwiseTap, const float>& taps) const {
    const PatchAxis& columns = phase.patches.columns;
    const std::size_t first = phase.first_pixel + phase.grid.At(row * columns.positions);
    float* out = args.out + first * args.out_stride;
    const std::size_t out_stride = phase.grid.column_pitch * args.out_stride;
    for (std::size_t j = 0; j < columns.positions; ++j) {
      kernel_.pixel(taps.Of(row, j), channels_, args.end, out + j * out_stride);
    }
  }

  std::size_t channels_;
  DepthwiseKernel kernel_;
  std::vector<ConvPhase> phases_;
  std::vector<std::vector<DepthwiseTap>> taps_;  // Of each worker.
};

class DepthwiseForward final : public ConvForward {
 public:
  DepthwiseForward(const ConvShape& shape, const ConvOptions& options)
      : gatherer_(shape.channels, {ForwardPhase(shape)}, options) {}

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

class DepthwiseBackwardData final : public ConvBackwardData {
 public:
  DepthwiseBackwardData(const ConvShape& shape, const ConvOptions& options)
      : gatherer_(shape.channels, BackwardPhases(shape), options) {}

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

class DepthwiseBackwardWeights final : public ConvBackwardWeights {
 public:
  DepthwiseBackwardWeights(const ConvShape& shape, const ConvOptions& options)
      : channels_(shape.channels),
        kernel_(ChooseDepthwiseKernel(options.target)),
        phase_(ForwardPhase(shape)),
        rows_(shape.batch * shape.out_height()),
        width_(shape.out_width()),
        taps_(options.workers, std::vector<DepthwiseWeightTap>(phase_.taps.size())) {
    part_rows_ = DepthwisePartRows(shape);
    parts_ = CeilDiv(rows_, part_rows_);
  }

  std::size_t workspace_floats() const override { return parts_ * part_floats(); }

  void Run(const ConvBackwardWeightsArgs& args, float* workspace, Parallel& parallel) override {
    SHOAL_CHECK_EQ(parallel.workers(), taps_.size());
    parallel.Run(parts_, [&](std::size_t part, std::size_t worker) {
      RunPart(args, part, workspace + part * part_floats(), taps_[worker]);
    });
    const std::size_t weights = phase_.taps.size() * channels_;
    AddParts(workspace, weights, args.accumulate, args.dw);
    if (args.dbias != nullptr) {
      AddParts(workspace + weights, channels_, args.accumulate, args.dbias);
    }
  }

 private:
  // dw, and behind it dbias, in whole cache lines.
  std::size_t part_floats() const { return CeilDiv((phase_.taps.size() + 1) * channels_, 16) * 16; }

  void RunPart(const ConvBackwardWeightsArgs& args, std::size_t part, float* sums,
               std::span<DepthwiseWeightTap> room) const {
    std::fill_n(sums, part_floats(), 0.0F);
    RowTaps<DepthwiseWeightTap, float> taps(phase_, channels_, args.x, args.x_stride, sums, room);
    const std::size_t end = std::min(rows_, (part + 1) * part_rows_);
    for (std::size_t row = part * part_rows_; row < end; ++row) {
      const float* dy = args.dy + row * width_ * args.dy_stride;
      for (std::size_t j = 0; j < width_; ++j, dy += args.dy_stride) {
        kernel_.weight_pixel(taps.Of(row, j), dy, channels_);
        if (args.dbias == nullptr) continue;
        kernel_.add(dy, channels_, sums + phase_.taps.size() * channels_);
      }
    }
  }

  void AddParts(const float* parts, std::size_t count, bool accumulate, float* out) const {
    if (!accumulate) std::copy_n(parts, count, out);
    for (std::size_t part = accumulate ? 0 : 1; part < parts_; ++part) {
      kernel_.add(parts + part * part_floats(), count, out);
    }
  }

  std::size_t channels_;
  DepthwiseKernel kernel_;
  ConvPhase phase_;
  std::size_t rows_;
  std::size_t width_;
  std::size_t part_rows_;
  std::size_t parts_;
  std::vector<std::vector<DepthwiseWeightTap>> taps_;  // Of each worker.
};

}  // namespace

std::unique_ptr<ConvForward> MakeDepthwiseForward(const ConvShape& shape,
                                                  const ConvOptions& options) {
  if (!IsDepthwise(shape)) return nullptr;
  if (auto lines = MakeDepthwiseLinesForward(shape, options)) return lines;
  return std::make_unique<DepthwiseForward>(shape, options);
}

std::unique_ptr<ConvBackwardData> MakeDepthwiseBackwardData(const ConvShape& shape,
                                                            const ConvOptions& options) {
  if (!IsDepthwise(shape)) return nullptr;
  if (auto lines = MakeDepthwiseLinesBackwardData(shape, options)) return lines;
  return std::make_unique<DepthwiseBackwardData>(shape, options);
}

std::unique_ptr<ConvBackwardWeights> MakeDepthwiseBackwardWeights(const ConvShape& shape,
                                                                  const ConvOptions& options) {
  if (!IsDepthwise(shape)) return nullptr;
  if (auto lines = MakeDepthwiseLinesBackwardWeights(shape, options)) return lines;
  return std::make_unique<DepthwiseBackwardWeights>(shape, options);
}

}  // namespace shoal::kernels
