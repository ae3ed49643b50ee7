#include "kernels/conv_depthwise_lines.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "kernels/conv_patches.h"
#include "kernels/conv_phases.h"
#include "kernels/depthwise_line_kernel.h"
#include "kernels/depthwise_line_window.h"
#include "kernels/depthwise_passes.h"
#include "kernels/float_scratch.h"

namespace shoal::kernels {
namespace {

constexpr std::size_t kBlock = kDepthwiseBlock;

// Forward and backward by data alike: lines of the result from those that they read.
class LineGatherer {
 public:
  using Args = DepthwiseGatherArgs;

  LineGatherer(std::size_t channels, std::vector<ConvPhase> phases,
               const DepthwiseLineKernel& kernel, std::size_t workers)
      : channels_(channels),
        blocks_(CeilDiv(channels, kBlock)),
        kernel_(kernel),
        phases_(std::move(phases)),
        window_(phases_) {
    std::size_t positions = 0;
    for (const ConvPhase& phase : phases_) {
      weights_ += phase.taps.size();
      positions = std::max(positions, phase.patches.rows.positions);
    }
    positions_ = positions;
    const std::size_t images = phases_.front().patches.batch;
    bands_ = std::clamp<std::size_t>(CeilDiv(kTasks, images), CeilDiv(positions, kBandMax),
                                     std::max(CeilDiv(positions, kBandMax), positions / kBandMin));
    band_ = CeilDiv(positions, bands_);
    bands_ = CeilDiv(positions, band_);
    const std::size_t chunk = kChunkFloats / window_.floats();
    chunk_ = chunk < kChunkMin ? blocks_ : std::min(chunk, blocks_);
    rooms_ = MakeRooms(workers, chunk_ * window_.floats());
    (void)w_.Reserve(blocks_ * weights_ * kBlock);
  }

  void Run(const Args& args, Parallel& parallel) {
    SHOAL_CHECK_EQ(parallel.workers(), rooms_.size());
    std::size_t at = 0;
    for (const ConvPhase& phase : phases_) {
      for (const std::size_t tap : phase.taps) {
        kernel_.pack(args.w + tap * channels_, 0, 1, channels_, w_.Reserve(0) + at++ * kBlock,
                     weights_ * kBlock);
      }
    }
    const std::size_t images = phases_.front().patches.batch;
    parallel.Run(images * bands_, [&](std::size_t task, std::size_t worker) {
      for (std::size_t block = 0; block < blocks_; block += chunk_) {
        RunBand(args, task / bands_, task % bands_, block, rooms_[worker].Reserve(0));
      }
    });
  }

 private:
  // Lines of a task: few enough for all cores to have some, but not so few that most are packed
  // again for the task beside it.
  static constexpr std::size_t kTasks = 16;
  static constexpr std::size_t kBandMin = 4;
  // Packed lines that stay in the L1; but of few channels of each pixel, reading is slower.
  static constexpr std::size_t kChunkFloats = 6144;
  static constexpr std::size_t kChunkMin = 4;
  static constexpr std::size_t kBandMax = 32;

  // chunk_ blocks from `block` on.
  void RunBand(const Args& args, std::size_t image, std::size_t band, std::size_t block,
               float* room) const {
    const std::size_t c = block * kBlock;
    const std::size_t channels = std::min(channels_ - c, chunk_ * kBlock);
    const std::size_t image_lines = phases_.front().patches.rows.size;
    std::size_t next = 0;  // The first line that is not packed.
    const std::size_t end = std::min(positions_, (band + 1) * band_);
    for (std::size_t i = band * band_; i < end; ++i) {
      for (next = std::max(next, window_.begin(i)); next < window_.end(i); ++next) {
        const std::size_t pixel = (image * image_lines + next) * window_.width();
        kernel_.pack(args.in + pixel * args.in_stride + c, args.in_stride, window_.width(),
                     channels, window_.Line(room, next), window_.floats());
      }
      const float* w = w_.data() + block * weights_ * kBlock;
      for (const ConvPhase& phase : phases_) {
        if (i < phase.patches.rows.positions) RunLine(args, phase, image, i, block, w, room);
        w += phase.taps.size() * kBlock;
      }
    }
  }

  // The packed blocks of a line, from `block` on. `w` are those of the phase and first block.
  void RunLine(const Args& args, const ConvPhase& phase, std::size_t image, std::size_t i,
               std::size_t block, const float* w, const float* room) const {
    const PatchAxis& columns = phase.patches.columns;
    const std::size_t pixel =
        phase.first_pixel + image * phase.grid.image_pitch + i * phase.grid.row_pitch;
    float* const out = args.out + pixel * args.out_stride + block * kBlock;
    std::size_t first = 0;
    DepthwiseLine line{.rows = window_.Rows(phase, room, i, first),
                       .w = w + first * columns.offsets.size() * kBlock,
                       .count = columns.positions,
                       .channels = kBlock,
                       .out = out,
                       .out_stride = phase.grid.column_pitch * args.out_stride};
    DepthwiseLineFunction* const run = kernel_.line(columns.offsets.size(), columns.step);
    DepthwiseEnd end = args.end;
    if (end.bias != nullptr) end.bias += block * kBlock;
    for (const std::size_t last = std::min(blocks_, block + chunk_); block < last; ++block) {
      line.channels = std::min(kBlock, channels_ - block * kBlock);
      run(line, end);
      for (const float*& x : line.rows.x) x += window_.floats();
      line.w += weights_ * kBlock;
      line.out += kBlock;
      if (end.bias != nullptr) end.bias += kBlock;
    }
  }

  std::size_t channels_;
  std::size_t blocks_;
  const DepthwiseLineKernel& kernel_;
  std::vector<ConvPhase> phases_;
  LineWindow window_;
  std::size_t weights_ = 0;
  std::size_t positions_ = 0;  // Lines of the phase that has most.
  std::size_t band_ = 1;
  std::size_t bands_ = 1;
  std::size_t chunk_ = 1;            // Blocks that are packed at a time.
  FloatScratch w_;                   // Packed [blocks][weights_].
  std::vector<FloatScratch> rooms_;  // [chunk_] of lines, for each worker.
};

// Null if the kernels do not know these phases.
template <class Pass>
std::unique_ptr<Pass> Make(const ConvShape& shape, std::vector<ConvPhase> phases,
                           const ConvOptions& options) {
  const DepthwiseLineKernel* const kernel = ChooseDepthwiseLineKernel(options.target);
  if (kernel == nullptr || !AreLines(phases, kernel->line)) return nullptr;
  return std::make_unique<Pass>(
      LineGatherer(shape.channels, std::move(phases), *kernel, options.workers));
}

}  // namespace

std::unique_ptr<ConvForward> MakeDepthwiseLinesForward(const ConvShape& shape,
                                                       const ConvOptions& options) {
  return Make<DepthwiseForwardBy<LineGatherer>>(shape, {ForwardPhase(shape)}, options);
}

std::unique_ptr<ConvBackwardData> MakeDepthwiseLinesBackwardData(const ConvShape& shape,
                                                                 const ConvOptions& options) {
  return Make<DepthwiseBackwardDataBy<LineGatherer>>(shape, BackwardPhases(shape), options);
}

}  // namespace shoal::kernels
