#include "kernels/conv_implicit_gemm.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "kernels/conv_patches.h"
#include "kernels/conv_phases.h"
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

// A stride of s × s is s² convolutions of stride 1, each with its share of the taps and of the
// pixels of dx: no multiplication by the zeros between the pixels of dy.
class ImplicitGemmBackwardData final : public ConvBackwardData {
 public:
  ImplicitGemmBackwardData(const ConvShape& shape, const ConvOptions& options)
      : shape_(shape),
        kernel_(ChooseGemmKernel(options.target)),
        workers_(options.workers),
        phases_(BackwardPhases(shape)) {
    std::size_t taps = 0;
    for (const ConvPhase& phase : phases_) taps = std::max(taps, phase.taps.size());
    pieces_.resize(taps);
  }

  std::size_t workspace_floats() const override {
    std::size_t floats = 0;
    for (const ConvPhase& phase : phases_) {
      const Patches a(phase.patches, nullptr, 0);
      floats = std::max(floats, GemmLoopFloats(Loop(phase, a), kernel_, workers_));
    }
    return floats;
  }

  void Run(const ConvBackwardDataArgs& args, float* workspace, Parallel& parallel) override {
    SHOAL_CHECK_EQ(parallel.workers(), workers_);
    for (const ConvPhase& phase : phases_) {
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
  GemmLoop Loop(const ConvPhase& phase, const Patches& a) const {
    GemmLoop loop;
    loop.m = phase.patches.positions();
    loop.n = shape_.channels / shape_.groups;
    loop.k = phase.patches.taps() * phase.patches.channels;
    loop.a = &a;
    return loop;
  }

  void RunPhase(const ConvPhase& phase, std::size_t group, const ConvBackwardDataArgs& args,
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
  void Zero(const ConvPhase& phase, const ConvBackwardDataArgs& args, Parallel& parallel) const {
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
  const std::vector<ConvPhase> phases_;
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
