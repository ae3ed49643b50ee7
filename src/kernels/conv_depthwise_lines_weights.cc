#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "kernels/conv_depthwise_lines.h"
#include "kernels/depthwise_line_window.h"
#include "kernels/depthwise_passes.h"

namespace shoal::kernels {
namespace {

constexpr std::size_t kBlock = kDepthwiseBlock;

// A task sums over the lines of a part; parts are added in the end.
class LinesBackwardWeights final : public ConvBackwardWeights {
 public:
  LinesBackwardWeights(const ConvShape& shape, std::vector<ConvPhase> phases,
                       const DepthwiseLineKernel& kernel, const ConvOptions& options)
      : shape_(shape),
        kernel_(kernel),
        phases_(std::move(phases)),
        window_(phases_),
        width_(shape.out_width()),
        blocks_(CeilDiv(shape.channels, kBlock)),
        parts_(shape, options.target),
        rooms_(MakeRooms(options.workers, blocks_ * block_floats())) {}

  std::size_t workspace_floats() const override { return parts_.count() * parts_.floats(); }

  void Run(const ConvBackwardWeightsArgs& args, float* workspace, Parallel& parallel) override {
    SHOAL_CHECK_EQ(parallel.workers(), rooms_.size());
    parallel.Run(parts_.count(), [&](std::size_t part, std::size_t worker) {
      RunPart(args, part, rooms_[worker].Reserve(0), workspace + part * parts_.floats());
    });
    parts_.Add(workspace, args);
  }

 private:
  std::size_t taps() const { return phases_.front().taps.size(); }
  // A worker's room, for each block: lines, sums (dbias last), a line of dy.
  std::size_t block_floats() const { return window_.floats() + (taps() + 1 + width_) * kBlock; }
  std::size_t sums_at() const { return window_.floats(); }
  std::size_t dy_at() const { return window_.floats() + (taps() + 1) * kBlock; }

  void RunPart(const ConvBackwardWeightsArgs& args, std::size_t part, float* room,
               float* out) const {
    for (std::size_t block = 0; block < blocks_; ++block) {
      std::fill_n(room + block * block_floats() + sums_at(), (taps() + 1) * kBlock, 0.0F);
    }
    for (std::size_t row = parts_.begin(part); row < parts_.end(part);) {
      const std::size_t lines =
          std::min(parts_.end(part) - row, shape_.out_height() - row % shape_.out_height());
      RunLines(args, row, lines, room);
      row += lines;
    }
    for (std::size_t c = 0; c < shape_.channels; c += kBlock) {
      const float* const sums = room + c / kBlock * block_floats() + sums_at();
      for (std::size_t t = 0; t <= taps(); ++t) {
        std::copy_n(sums + t * kBlock, std::min(kBlock, shape_.channels - c),
                    out + t * shape_.channels + c);
      }
    }
  }

  // Lines of one image; `row` counts those of all.
  void RunLines(const ConvBackwardWeightsArgs& args, std::size_t row, std::size_t lines,
                float* room) const {
    const std::size_t image = row / shape_.out_height();
    std::size_t next = 0;  // The first line that is not packed.
    for (const std::size_t last = row + lines; row < last; ++row) {
      const std::size_t i = row % shape_.out_height();
      for (next = std::max(next, window_.begin(i)); next < window_.end(i); ++next) {
        const float* x = args.x + (image * shape_.height + next) * shape_.width * args.x_stride;
        kernel_.pack(x, args.x_stride, shape_.width, shape_.channels, window_.Line(room, next),
                     block_floats());
      }
      kernel_.pack(args.dy + row * width_ * args.dy_stride, args.dy_stride, width_, shape_.channels,
                   room + dy_at(), block_floats());
      RunLine(i, args.dbias != nullptr, room);
    }
  }

  // All blocks of a packed line.
  void RunLine(std::size_t i, bool bias, float* room) const {
    const ConvPhase& phase = phases_.front();
    const PatchAxis& columns = phase.patches.columns;
    DepthwiseWeightLineFunction* const run =
        kernel_.weight_line(columns.offsets.size(), columns.step);
    for (std::size_t block = 0; block < blocks_; ++block, room += block_floats()) {
      std::size_t first = 0;
      const DepthwiseRows rows = window_.Rows(phase, room, i, first);
      float* const sums = room + sums_at();
      run({.rows = rows,
           .dy = room + dy_at(),
           .count = width_,
           .dw = sums + first * columns.offsets.size() * kBlock});
      if (bias) kernel_.sum(room + dy_at(), width_, sums + taps() * kBlock);
    }
  }

  ConvShape shape_;
  const DepthwiseLineKernel& kernel_;
  std::vector<ConvPhase> phases_;  // One.
  LineWindow window_;
  std::size_t width_;
  std::size_t blocks_;
  DepthwiseParts parts_;
  std::vector<FloatScratch> rooms_;  // Of each worker.
};

}  // namespace

std::unique_ptr<ConvBackwardWeights> MakeDepthwiseLinesBackwardWeights(const ConvShape& shape,
                                                                       const ConvOptions& options) {
  const DepthwiseLineKernel* const kernel = ChooseDepthwiseLineKernel(options.target);
  std::vector<ConvPhase> phases = {ForwardPhase(shape)};
  if (kernel == nullptr || !AreLines(phases, kernel->weight_line)) return nullptr;
  return std::make_unique<LinesBackwardWeights>(shape, std::move(phases), *kernel, options);
}

}  // namespace shoal::kernels
