#include <algorithm>
#include <array>

#include "base/check.h"
#include "kernels/chunks.h"
#include "kernels/conv_implicit_gemm.h"
#include "kernels/conv_patches.h"
#include "kernels/gemm_kernel.h"
#include "kernels/gemm_loop.h"

// dw[taps · channels, outputs] = patches of x, transposed · dy: few rows and columns, and a sum
// over all pixels. So the pixels are cut into parts, each with a dw of its own, which are added in
// the end; how many depends on the shape alone, so that the bits depend on nothing else.
//
// Patches are not transposed for it: a tile takes both operands in panels, [pixels, tile_rows] and
// [pixels, panel_columns], and those are pieces of the rows of x and dy as they lie in memory.
namespace shoal::kernels {
namespace {

// A part has at least so many pixels, so that adding the parts costs a hundredth of the work …
constexpr std::size_t kPartPixels = 768;
// … and there are enough to keep a few slow and fast cores busy, in little memory.
constexpr std::size_t kPartsMax = 16;
constexpr std::size_t kPartFloatsMax = 2U << 20U;

// Tiles whose rows of dw are packed at once: a few cache lines of each pixel of x.
constexpr std::size_t kTilesPerPiece = 8;

// Tasks for each worker, where parts alone are too few.
constexpr std::size_t kTasksPerWorker = 4;

std::size_t CeilDiv(std::size_t a, std::size_t b) { return (a + b - 1) / b; }
std::size_t RoundUp(std::size_t a, std::size_t b) { return CeilDiv(a, b) * b; }

constexpr std::array<float, kGemmDepth> kOnes = [] {
  std::array<float, kGemmDepth> ones{};
  ones.fill(1.0F);
  return ones;
}();

std::size_t CountParts(std::size_t pixels, std::size_t floats) {
  const std::size_t parts = std::min(pixels / kPartPixels, kPartFloatsMax / floats);
  return std::clamp<std::size_t>(parts, 1, kPartsMax);
}

class ImplicitGemmBackwardWeights final : public ConvBackwardWeights {
 public:
  ImplicitGemmBackwardWeights(const ConvShape& shape, const ConvOptions& options)
      : shape_(shape),
        kernel_(ChooseGemmKernel(options.target)),
        workers_(options.workers),
        patches_(ForwardPatches(shape)),
        m_(patches_.taps() * patches_.channels),
        n_(shape.outputs / shape.groups),
        pixels_(patches_.positions()),
        parts_(CountParts(pixels_, (m_ + 1) * n_)) {
    part_pixels_ = CeilDiv(pixels_, parts_);
    // Blocks of equal depth: a short one would go through C for little.
    depth_ =
        std::min(kGemmDepth, RoundUp(CeilDiv(part_pixels_, CeilDiv(part_pixels_, kGemmDepth)), 4));
  }

  std::size_t workspace_floats() const override {
    return workers_ * worker_floats() + (parts_ > 1 ? parts_ * part_floats() : 0);
  }

  void Run(const ConvBackwardWeightsArgs& args, float* workspace, Parallel& parallel) override {
    SHOAL_CHECK_EQ(parallel.workers(), workers_);
    for (std::size_t group = 0; group < shape_.groups; ++group) {
      RunGroup(group, args, workspace, parallel);
    }
  }

 private:
  // Where the sums of one part go.
  struct Target {
    float* dw;
    float* dbias;  // Or none.
    std::size_t stride;
    bool accumulate;
  };
  // One group, constant while tasks run.
  struct Call {
    const Patches& x;
    MatrixRef dy;
    Target result;
    float* parts;
    std::size_t pieces_per_run;
  };

  std::size_t piece_columns() const { return kTilesPerPiece * kernel_.tile_rows; }
  std::size_t block_columns() const { return std::min(n_, kernel_.panel_floats_max / kGemmDepth); }
  std::size_t a_panel_floats() const { return RoundUp(depth_ * kernel_.tile_rows, 16); }
  std::size_t b_floats() const { return RoundUp(block_columns(), kernel_.panel_columns) * depth_; }
  std::size_t worker_floats() const {
    return RoundUp(b_floats(), 16) + kTilesPerPiece * a_panel_floats();
  }
  std::size_t part_floats() const { return RoundUp((m_ + 1) * n_, 16); }

  void RunGroup(std::size_t group, const ConvBackwardWeightsArgs& args, float* workspace,
                Parallel& parallel) const {
    const Patches x(patches_, args.x + group * patches_.channels, args.x_stride);
    const Call call{.x = x,
                    .dy = {.data = args.dy + group * n_, .stride = args.dy_stride},
                    .result = {.dw = args.dw + group * n_,
                               .dbias = args.dbias != nullptr ? args.dbias + group * n_ : nullptr,
                               .stride = shape_.outputs,
                               .accumulate = args.accumulate},
                    .parts = workspace + workers_ * worker_floats(),
                    .pieces_per_run = CeilDiv(x.run_size(), piece_columns())};
    const std::size_t pieces = x.runs() * call.pieces_per_run;
    const std::size_t cuts =
        workers_ == 1 ? 1 : std::min(pieces, CeilDiv(kTasksPerWorker * workers_, parts_));
    const std::size_t cut_pieces = CeilDiv(pieces, cuts);
    parallel.Run(parts_ * cuts, [&](std::size_t task, std::size_t worker) {
      const std::size_t begin = std::min(pieces, task % cuts * cut_pieces);
      RunTask(call, task / cuts, {begin, std::min(cut_pieces, pieces - begin)},
              workspace + worker * worker_floats());
    });
    if (parts_ > 1) AddParts(call, parallel);
  }

  Target PartTarget(const Call& call, std::size_t part) const {
    if (parts_ == 1) return call.result;
    float* dw = call.parts + part * part_floats();
    return {.dw = dw,
            .dbias = call.result.dbias != nullptr ? dw + m_ * n_ : nullptr,
            .stride = n_,
            .accumulate = false};
  }

  // Some pieces of dw over the pixels of one part.
  void RunTask(const Call& call, std::size_t part, Range pieces, float* buffer) const {
    const Target target = PartTarget(call, part);
    const std::size_t first = std::min(pixels_, part * part_pixels_);
    const std::size_t last = std::min(pixels_, first + part_pixels_);
    for (std::size_t j = 0; j < n_; j += block_columns()) {
      const Range columns{j, std::min(block_columns(), n_ - j)};
      for (std::size_t k = first; k < last; k += depth_) {
        const TileEnd end{.add_c = k > first || target.accumulate};
        RunBlock(call, target, pieces, columns, {k, std::min(depth_, last - k)}, end, buffer);
      }
    }
  }

  void RunBlock(const Call& call, const Target& target, Range pieces, Range columns, Range k,
                const TileEnd& end, float* buffer) const {
    PackPanels(kernel_, {.pieces = {&call.dy, 1}, .piece_k = pixels_}, k, columns, buffer);
    GemmBlock block{.rows = 1,
                    .columns = columns.size,
                    .depth = k.size,
                    .a = kOnes.data(),
                    .a_stride = kGemmDepth,
                    .panels = buffer,
                    .c = target.dbias + columns.begin,
                    .c_stride = n_,
                    .end = end};
    if (pieces.begin == 0 && target.dbias != nullptr) kernel_.multiply(block);
    float* panels = buffer + RoundUp(b_floats(), 16);
    block.a = panels;
    block.a_panels = true;
    block.a_stride = a_panel_floats();
    block.c_stride = target.stride;
    for (std::size_t piece = pieces.begin; piece < pieces.begin + pieces.size; ++piece) {
      const std::size_t run = piece / call.pieces_per_run;
      const std::size_t row = piece % call.pieces_per_run * piece_columns();
      block.rows = std::min(piece_columns(), call.x.run_size() - row);
      call.x.GetPanels(kernel_, k, run, {row, block.rows}, panels, a_panel_floats());
      block.c = target.dw + (run * call.x.run_size() + row) * target.stride + columns.begin;
      kernel_.multiply(block);
    }
  }

  // result (+)= part 0 + part 1 + …; the row after dw is dbias.
  void AddParts(const Call& call, Parallel& parallel) const {
    const std::size_t rows = m_ + (call.result.dbias != nullptr ? 1 : 0);
    ForChunks(rows, RowsPerTask(n_ * parts_), parallel, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        float* out = row < m_ ? call.result.dw + row * call.result.stride : call.result.dbias;
        for (std::size_t part = 0; part < parts_; ++part) {
          const float* in = call.parts + part * part_floats() + row * n_;
          if (part == 0 && !call.result.accumulate) {
            std::copy_n(in, n_, out);
          } else {
            for (std::size_t j = 0; j < n_; ++j) out[j] += in[j];
          }
        }
      }
    });
  }

  const ConvShape shape_;
  const GemmKernel kernel_;
  const std::size_t workers_;
  const PatchShape patches_;
  const std::size_t m_;
  const std::size_t n_;
  const std::size_t pixels_;
  const std::size_t parts_;
  std::size_t part_pixels_;
  std::size_t depth_;
};

}  // namespace

std::unique_ptr<ConvBackwardWeights> MakeImplicitGemmBackwardWeights(const ConvShape& shape,
                                                                     const ConvOptions& options) {
  return std::make_unique<ImplicitGemmBackwardWeights>(shape, options);
}

}  // namespace shoal::kernels
