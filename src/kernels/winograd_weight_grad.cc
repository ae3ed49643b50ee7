#include "kernels/winograd_weight_grad.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/gemm.h"

// The exact adjoint of the forward pass: with V the transformed inputs and D = A dy A^T, which is
// zero-padded where a tile hangs over the edge,
//
//   dU[position] = V[position]^T · D[position]     GEMMs over the tiles
//   dw = G^T dU G
//
// All workers go through a block of tiles together, first transforming, then multiplying, each
// some positions. So a sum over tiles has one order, whoever computes it, and dU exists once.
// D goes straight into panels of the GEMM, and V is read by columns where it lies.
namespace shoal::kernels {
namespace {

// V and D, in floats. A block of fewer tiles than the minimum would spend its time on fetching dU.
// Part of the arithmetic, as kGemmDepth is: they may not depend on the target.
constexpr std::size_t kBlockFloats = std::size_t{1} << 20U;
constexpr std::size_t kBlockTilesMin = 96;

constexpr std::size_t kSharedTiles = 4;  // Tiles that a task transforms,
constexpr std::size_t kGradRows = 8;     // and rows of dw.
constexpr std::size_t kLine = 16;        // Floats of a cache line.

// An odd number of lines, because powers of two would all fall into the same set of the L1.
std::size_t OddLines(std::size_t floats) { return RoundUp(floats + kLine, 2 * kLine) - kLine; }

Range RangeOf(std::size_t task, std::size_t size, std::size_t end) {
  return {task * size, std::min(size, end - task * size)};
}

}  // namespace

struct WinogradWeightGrad::Call {
  const ConvBackwardWeightsArgs& args;
  WinogradImages<const float> x;
  WinogradImages<const float> dy;
  float* ones;  // [kGemmDepth]
  float* bias;  // The sums of dy.
  float* v;
  float* d;
  float* u;
};

WinogradWeightGrad::WinogradWeightGrad(std::size_t side, const ConvShape& shape,
                                       std::size_t dw_stride, const ConvOptions& options)
    : shape_(shape),
      dw_stride_(dw_stride),
      workers_(options.workers),
      gemm_(ChooseGemmKernel(options.target)),
      kernel_(ChooseWinogradKernel(side, options.target)),
      tiles_(MakeWinogradTiles(side, shape.batch, shape.out_height(), shape.out_width(),
                               shape.pad_h, shape.pad_w)) {
  SHOAL_CHECK_EQ(gemm_.panel_columns % kernel_.lanes, std::size_t{0});
  const std::size_t tile_floats = tiles_.positions() * (shape.channels + shape.outputs);
  const std::size_t tiles_max = std::clamp(kBlockFloats / tile_floats, kBlockTilesMin, kGemmDepth);
  block_tiles_ = CeilDiv(tiles_.count, CeilDiv(tiles_.count, tiles_max));
  v_stride_ = OddLines(block_tiles_ * OddLines(shape.channels));
  d_stride_ = OddLines(block_tiles_ * RoundUp(shape.outputs, gemm_.panel_columns));
  u_stride_ = OddLines(shape.channels * RoundUp(shape.outputs, kLine));
}

std::size_t WinogradWeightGrad::workspace_floats() const {
  const std::size_t rows = RoundUp(std::max(shape_.channels, shape_.outputs), kLine);
  return kGemmDepth + 2 * rows + tiles_.positions() * (v_stride_ + d_stride_ + u_stride_);
}

// Tiles of a block, from its `first` on.
void WinogradWeightGrad::Spread(const Call& call, Range tiles, std::size_t first,
                                std::size_t block_tiles) const {
  const float* pixels[kWinogradPositionsMax];
  const std::size_t width = gemm_.panel_columns;
  for (std::size_t i = first; i < first + tiles.size; ++i) {
    const std::size_t tile = tiles.begin + i - first;
    tiles_.Inputs(call.x, tile, pixels);
    kernel_.input(pixels, shape_.channels,
                  {.data = call.v + i * OddLines(shape_.channels),
                   .position_stride = v_stride_,
                   .panel_columns = width,
                   .panel_stride = width});
    tiles_.Outputs(call.dy, tile, pixels);
    kernel_.output_grad(pixels, shape_.outputs,
                        {.data = call.d + i * width,
                         .position_stride = d_stride_,
                         .panel_columns = width,
                         .panel_stride = block_tiles * width});
  }
}

void WinogradWeightGrad::Multiply(const Call& call, std::size_t position, Range rows,
                                  std::size_t tiles, bool add) const {
  const std::size_t step =
      gemm_.panel_floats_max / kGemmDepth / gemm_.panel_columns * gemm_.panel_columns;
  const std::size_t c_stride = RoundUp(shape_.outputs, kLine);
  for (std::size_t j = 0; j < shape_.outputs; j += step) {
    TileEnd end;
    end.add_c = add;
    gemm_.multiply({.rows = rows.size,
                    .columns = RoundUp(std::min(step, shape_.outputs - j), kernel_.lanes),
                    .depth = tiles,
                    .a = call.v + position * v_stride_ + rows.begin,
                    .a_stride = gemm_.tile_rows,
                    .a_panels = true,
                    .a_step = OddLines(shape_.channels),
                    .panels = call.d + position * d_stride_ + j * tiles,
                    .c = call.u + position * u_stride_ + rows.begin * c_stride + j,
                    .c_stride = c_stride,
                    .end = end});
  }
}

// The value of dy at the point 1 in both directions is the sum of its tile.
void WinogradWeightGrad::SumBias(const Call& call, std::size_t tiles, bool add) const {
  TileEnd end;
  end.add_c = add;
  gemm_.multiply({.rows = 1,
                  .columns = RoundUp(shape_.outputs, kernel_.lanes),
                  .depth = tiles,
                  .a = call.ones,
                  .a_stride = kGemmDepth,
                  .panels = call.d + (tiles_.window() + 1) * d_stride_,
                  .c = call.bias,
                  .c_stride = RoundUp(shape_.outputs, kLine),
                  .end = end});
}

void WinogradWeightGrad::RunBlock(const Call& call, Range tiles, Parallel& parallel) const {
  const bool add = tiles.begin > 0;
  parallel.Run(CeilDiv(tiles.size, kSharedTiles), [&](std::size_t task, std::size_t) {
    const Range part = RangeOf(task, kSharedTiles, tiles.size);
    Spread(call, {tiles.begin + part.begin, part.size}, part.begin, tiles.size);
  });
  const std::size_t cuts = CeilDiv(4 * workers_, tiles_.positions());
  const std::size_t rows = RoundUp(CeilDiv(shape_.channels, cuts), kLine);
  const std::size_t down = CeilDiv(shape_.channels, rows);
  parallel.Run(tiles_.positions() * down, [&](std::size_t task, std::size_t) {
    Multiply(call, task / down, RangeOf(task % down, rows, shape_.channels), tiles.size, add);
    if (task == 0 && call.args.dbias != nullptr) SumBias(call, tiles.size, add);
  });
}

void WinogradWeightGrad::Finish(const Call& call, Parallel& parallel) const {
  const std::size_t channels = shape_.channels;
  parallel.Run(CeilDiv(channels, kGradRows), [&](std::size_t task, std::size_t) {
    const Range rows = RangeOf(task, kGradRows, channels);
    for (std::size_t c = rows.begin; c < rows.begin + rows.size; ++c) {
      float* taps[kWinogradTaps];
      for (std::size_t t = 0; t < kWinogradTaps; ++t) {
        taps[t] = call.args.dw + (t * channels + c) * dw_stride_;
      }
      kernel_.weights_grad(call.u + c * RoundUp(shape_.outputs, kLine), u_stride_, shape_.outputs,
                           taps, {.accumulate = call.args.accumulate});
    }
  });
  if (call.args.dbias == nullptr) return;
  for (std::size_t o = 0; o < shape_.outputs; ++o) {
    float& dbias = call.args.dbias[o];
    dbias = call.args.accumulate ? dbias + call.bias[o] : call.bias[o];
  }
}

void WinogradWeightGrad::Run(const ConvBackwardWeightsArgs& args, float* workspace,
                             Parallel& parallel) const {
  SHOAL_CHECK_LE(parallel.workers(), workers_);
  const std::size_t row = RoundUp(std::max(shape_.channels, shape_.outputs), kLine);
  float* ones = workspace;
  float* zeros = ones + kGemmDepth;
  float* bias = zeros + row;
  float* v = bias + row;
  float* d = v + tiles_.positions() * v_stride_;
  std::fill(ones, ones + kGemmDepth, 1.0F);
  std::fill(zeros, zeros + row, 0.0F);
  const Call call{.args = args,
                  .x = {args.x, args.x_stride, shape_.height, shape_.width, zeros},
                  .dy = {args.dy, args.dy_stride, shape_.out_height(), shape_.out_width(), zeros},
                  .ones = ones,
                  .bias = bias,
                  .v = v,
                  .d = d,
                  .u = d + tiles_.positions() * d_stride_};
  for (std::size_t begin = 0; begin < tiles_.count; begin += block_tiles_) {
    RunBlock(call, {begin, std::min(block_tiles_, tiles_.count - begin)}, parallel);
  }
  Finish(call, parallel);
}

}  // namespace shoal::kernels
