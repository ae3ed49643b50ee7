#include "kernels/conv_implicit_gemm.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "kernels/conv_patches.h"
#include "kernels/gemm_kernel.h"
#include "kernels/gemm_loop.h"

namespace shoal::kernels {
namespace {

// y[pixels, outputs] = patches of x · w.
class ImplicitGemmForward final : public ConvForward {
 public:
  ImplicitGemmForward(const ConvShape& shape, const ConvOptions& options)
      : shape_(shape),
        kernel_(ChooseGemmKernel(options.target)),
        workers_(options.workers),
        patches_(ForwardPatches(shape)) {}

  std::size_t workspace_floats() const override {
    const Patches a(patches_, nullptr, 0);
    return GemmLoopFloats(Loop(a), kernel_, workers_);
  }

  void Run(const ConvForwardArgs& args, float* workspace, Parallel& parallel) override {
    SHOAL_CHECK_EQ(parallel.workers(), workers_);
    const std::size_t outputs = shape_.outputs / shape_.groups;
    for (std::size_t group = 0; group < shape_.groups; ++group) {
      const Patches a(patches_, args.x + group * patches_.channels, args.x_stride);
      const MatrixRef w{.data = args.w + group * outputs, .stride = shape_.outputs};
      GemmLoop loop = Loop(a);
      loop.b = {.pieces = {&w, 1}, .piece_k = loop.k};
      loop.c = args.y + group * outputs;
      loop.c_stride = args.y_stride;
      if (args.bias != nullptr) loop.column_bias = args.bias + group * outputs;
      loop.relu = args.relu;
      RunGemmLoop(loop, kernel_, workspace, parallel);
    }
  }

 private:
  GemmLoop Loop(const Patches& a) const {
    GemmLoop loop;
    loop.m = patches_.positions();
    loop.n = shape_.outputs / shape_.groups;
    loop.k = patches_.taps() * patches_.channels;
    loop.a = &a;
    return loop;
  }

  const ConvShape shape_;
  const GemmKernel kernel_;
  const std::size_t workers_;
  const PatchShape patches_;
};

// One axis of a backward pass: the coordinates of dx that are congruent to `phase` modulo the
// stride read the same taps.
struct PhaseAxis {
  PatchAxis patches;              // Of dy; position i is coordinate phase + i · stride of dx.
  std::vector<std::size_t> taps;  // Which of the kernel's each offset belongs to.
};

// Taps go from the last to the first, so that what they read lies in ascending order.
PhaseAxis MakePhaseAxis(std::size_t phase, std::size_t dx_size, std::size_t dy_size,
                        std::size_t stride, std::size_t pad, std::size_t taps,
                        std::size_t dilation) {
  PhaseAxis axis;
  axis.patches.positions = phase < dx_size ? (dx_size - phase - 1) / stride + 1 : 0;
  axis.patches.size = dy_size;
  for (std::size_t t = taps; t-- > 0;) {
    const std::ptrdiff_t distance =
        static_cast<std::ptrdiff_t>(phase + pad) - static_cast<std::ptrdiff_t>(t * dilation);
    if (distance % static_cast<std::ptrdiff_t>(stride) != 0) continue;
    axis.patches.offsets.push_back(distance / static_cast<std::ptrdiff_t>(stride));
    axis.taps.push_back(t);
  }
  return axis;
}

// The pixels of dx that read the same taps: dx[pixels, channels] = patches of dy · w transposed.
struct Phase {
  PatchShape patches;
  std::vector<std::size_t> taps;  // As rows of w: (row of the kernel · kernel_w + column).
  std::size_t first_pixel = 0;    // Of dx.
  GemmRowGrid grid;
};

Phase MakePhase(const ConvShape& shape, std::size_t row, std::size_t column) {
  PhaseAxis rows = MakePhaseAxis(row, shape.height, shape.out_height(), shape.stride_h, shape.pad_h,
                                 shape.kernel_h, shape.dilation_h);
  PhaseAxis columns = MakePhaseAxis(column, shape.width, shape.out_width(), shape.stride_w,
                                    shape.pad_w, shape.kernel_w, shape.dilation_w);
  Phase phase;
  for (const std::size_t r : rows.taps) {
    for (const std::size_t c : columns.taps) phase.taps.push_back(r * shape.kernel_w + c);
  }
  phase.first_pixel = row * shape.width + column;
  phase.grid = {.rows = rows.patches.positions,
                .columns = columns.patches.positions,
                .image_pitch = shape.height * shape.width,
                .row_pitch = shape.stride_h * shape.width,
                .column_pitch = shape.stride_w};
  phase.patches = {.batch = shape.batch,
                   .rows = std::move(rows.patches),
                   .columns = std::move(columns.patches),
                   .channels = shape.outputs / shape.groups};
  return phase;
}

// A stride of s × s is s² convolutions of stride 1, each with its share of the taps and of the
// pixels of dx: no multiplication by the zeros between the pixels of dy.
class ImplicitGemmBackwardData final : public ConvBackwardData {
 public:
  ImplicitGemmBackwardData(const ConvShape& shape, const ConvOptions& options)
      : shape_(shape), kernel_(ChooseGemmKernel(options.target)), workers_(options.workers) {
    std::size_t taps = 0;
    for (std::size_t row = 0; row < std::min(shape.stride_h, shape.height); ++row) {
      for (std::size_t column = 0; column < std::min(shape.stride_w, shape.width); ++column) {
        phases_.push_back(MakePhase(shape, row, column));
        taps = std::max(taps, phases_.back().taps.size());
      }
    }
    pieces_.resize(taps);
  }

  std::size_t workspace_floats() const override {
    std::size_t floats = 0;
    for (const Phase& phase : phases_) {
      const Patches a(phase.patches, nullptr, 0);
      floats = std::max(floats, GemmLoopFloats(Loop(phase, a), kernel_, workers_));
    }
    return floats;
  }

  void Run(const ConvBackwardDataArgs& args, float* workspace, Parallel& parallel) override {
    SHOAL_CHECK_EQ(parallel.workers(), workers_);
    for (const Phase& phase : phases_) {
      if (phase.taps.empty()) {
        if (!args.accumulate) Zero(phase, args, parallel);
        continue;
      }
      for (std::size_t group = 0; group < shape_.groups; ++group) {
        RunPhase(phase, group, args, workspace, parallel);
      }
    }
  }

 private:
  GemmLoop Loop(const Phase& phase, const Patches& a) const {
    GemmLoop loop;
    loop.m = phase.patches.positions();
    loop.n = shape_.channels / shape_.groups;
    loop.k = phase.patches.taps() * phase.patches.channels;
    loop.a = &a;
    return loop;
  }

  void RunPhase(const Phase& phase, std::size_t group, const ConvBackwardDataArgs& args,
                float* workspace, Parallel& parallel) {
    const std::size_t channels = shape_.channels / shape_.groups;
    const std::size_t outputs = phase.patches.channels;
    for (std::size_t i = 0; i < phase.taps.size(); ++i) {
      pieces_[i] = {.data = args.w + phase.taps[i] * channels * shape_.outputs + group * outputs,
                    .stride = shape_.outputs,
                    .transposed = true};
    }
    const Patches a(phase.patches, args.dy + group * outputs, args.dy_stride);
    GemmLoop loop = Loop(phase, a);
    loop.b = {.pieces = pieces_, .piece_k = outputs};
    loop.beta = args.accumulate ? 1 : 0;
    loop.c = args.dx + phase.first_pixel * args.dx_stride + group * channels;
    loop.c_stride = args.dx_stride;
    if (phases_.size() > 1) loop.c_grid = &phase.grid;
    RunGemmLoop(loop, kernel_, workspace, parallel);
  }

  // Pixels that no tap reaches.
  void Zero(const Phase& phase, const ConvBackwardDataArgs& args, Parallel& parallel) const {
    const std::size_t columns = phase.grid.columns;
    if (columns == 0) return;
    float* dx = args.dx + phase.first_pixel * args.dx_stride;
    parallel.Run(shape_.batch * phase.grid.rows, [&](std::size_t row, std::size_t) {
      for (std::size_t j = 0; j < columns; ++j) {
        std::fill_n(dx + phase.grid.At(row * columns + j) * args.dx_stride, shape_.channels, 0.0F);
      }
    });
  }

  const ConvShape shape_;
  const GemmKernel kernel_;
  const std::size_t workers_;
  std::vector<Phase> phases_;
  std::vector<MatrixRef> pieces_;  // Of the phase that runs.
};

}  // namespace

std::unique_ptr<ConvForward> MakeImplicitGemmForward(const ConvShape& shape,
                                                     const ConvOptions& options) {
  return std::make_unique<ImplicitGemmForward>(shape, options);
}

std::unique_ptr<ConvBackwardData> MakeImplicitGemmBackwardData(const ConvShape& shape,
                                                               const ConvOptions& options) {
  return std::make_unique<ImplicitGemmBackwardData>(shape, options);
}

}  // namespace shoal::kernels
