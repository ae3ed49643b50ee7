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
#include "kernels/depthwise_passes.h"

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
  using Args = DepthwiseGatherArgs;

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

class DepthwiseBackwardWeights final : public ConvBackwardWeights {
 public:
  DepthwiseBackwardWeights(const ConvShape& shape, const ConvOptions& options)
      : channels_(shape.channels),
        kernel_(ChooseDepthwiseKernel(options.target)),
        phase_(ForwardPhase(shape)),
        width_(shape.out_width()),
        parts_(shape, options.target),
        taps_(options.workers, std::vector<DepthwiseWeightTap>(phase_.taps.size())) {}

  std::size_t workspace_floats() const override { return parts_.count() * parts_.floats(); }

  void Run(const ConvBackwardWeightsArgs& args, float* workspace, Parallel& parallel) override {
    SHOAL_CHECK_EQ(parallel.workers(), taps_.size());
    parallel.Run(parts_.count(), [&](std::size_t part, std::size_t worker) {
      RunPart(args, part, workspace + part * parts_.floats(), taps_[worker]);
    });
    parts_.Add(workspace, args);
  }

 private:
  void RunPart(const ConvBackwardWeightsArgs& args, std::size_t part, float* sums,
               std::span<DepthwiseWeightTap> room) const {
    std::fill_n(sums, parts_.floats(), 0.0F);
    RowTaps<DepthwiseWeightTap, float> taps(phase_, channels_, args.x, args.x_stride, sums, room);
    for (std::size_t row = parts_.begin(part); row < parts_.end(part); ++row) {
      const float* dy = args.dy + row * width_ * args.dy_stride;
      for (std::size_t j = 0; j < width_; ++j, dy += args.dy_stride) {
        kernel_.weight_pixel(taps.Of(row, j), dy, channels_);
        if (args.dbias != nullptr) kernel_.add(dy, channels_, sums + parts_.bias_at());
      }
    }
  }

  std::size_t channels_;
  DepthwiseKernel kernel_;
  ConvPhase phase_;
  std::size_t width_;
  DepthwiseParts parts_;
  std::vector<std::vector<DepthwiseWeightTap>> taps_;  // Of each worker.
};

}  // namespace

std::unique_ptr<ConvForward> MakeDepthwiseForward(const ConvShape& shape,
                                                  const ConvOptions& options) {
  if (!IsDepthwise(shape)) return nullptr;
  if (auto lines = MakeDepthwiseLinesForward(shape, options)) return lines;
  return std::make_unique<DepthwiseForwardBy<Gatherer>>(
      Gatherer(shape.channels, {ForwardPhase(shape)}, options));
}

std::unique_ptr<ConvBackwardData> MakeDepthwiseBackwardData(const ConvShape& shape,
                                                            const ConvOptions& options) {
  if (!IsDepthwise(shape)) return nullptr;
  if (auto lines = MakeDepthwiseLinesBackwardData(shape, options)) return lines;
  return std::make_unique<DepthwiseBackwardDataBy<Gatherer>>(
      Gatherer(shape.channels, BackwardPhases(shape), options));
}

std::unique_ptr<ConvBackwardWeights> MakeDepthwiseBackwardWeights(const ConvShape& shape,
                                                                  const ConvOptions& options) {
  if (!IsDepthwise(shape)) return nullptr;
  if (auto lines = MakeDepthwiseLinesBackwardWeights(shape, options)) return lines;
  return std::make_unique<DepthwiseBackwardWeights>(shape, options);
}

}  // namespace shoal::kernels
