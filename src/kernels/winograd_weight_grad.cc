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
// All workers go through a block of tiles together, first transforming, then multiplying. So a sum
// over tiles has one order, whoever computes it. D goes straight into panels of the GEMM, and V is
// read by columns where it lies.
//
// If there are several blocks, dU exists once and in full, and a worker adds to some positions of
// it. A single block (few tiles, which come with many channels) goes without: a task makes all
// positions of a piece of dU that stays in its L2, and that piece of dw. With 7 × 7 pixels of 512
// channels, dU would have 37 MB, and fetching it took half of the time.
namespace shoal::kernels {
namespace {

// V and D, in floats. A block of fewer tiles than the minimum would spend its time on fetching dU.
// Part of the arithmetic, as kGemmDepth is: they may not depend on the target.
constexpr std::size_t kBlockFloats = std::size_t{1} << 20U;
constexpr std::size_t kBlockTilesMin = 96;

constexpr std::size_t kSharedTiles = 4;  // Tiles that a task transforms,
constexpr std::size_t kGradRows = 8;     // and rows of dw.
constexpr std::size_t kLine = 16;        // Floats of a cache line.

// A piece of dU: with 36 positions 216 KiB.
constexpr std::size_t kPieceRows = 24;
constexpr std::size_t kPieceColumns = 64;  // Or a few more: whole panels.

// An odd number of lines, because powers of two would all fall into the same set of the L1.
std::size_t OddLines(std::size_t floats) { return RoundUp(floats + kLine, 2 * kLine) - kLine; }

Range RangeOf(std::size_t task, std::size_t size, std::size_t end) {
  return {task * size, std::min(size, end - task * size)};
}

}  // namespace

// Rows and columns of dU, or of one block of tiles' part in it.
struct WinogradWeightGrad::Piece {
  Range rows;
  Range columns;
  float* u;
};

struct WinogradWeightGrad::Call {
  const ConvBackwardWeightsArgs& args;
  WinogradImages<const float> x;
  WinogradImages<const float> dy;
  const float* ones;  // [kGemmDepth]
  float* bias;        // The sums of dy.
  float* v;
  float* d;
  float* u;  // All of dU, or a piece for each worker.
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
  one_block_ = block_tiles_ == tiles_.count;
  piece_rows_ = one_block_ ? std::min(kPieceRows, shape.channels) : shape.channels;
  piece_columns_ = RoundUp(shape.outputs, kLine);
  if (one_block_) {
    // Whole panels, if there is more than one piece.
    piece_columns_ = std::min(piece_columns_, RoundUp(kPieceColumns, 4 * gemm_.panel_columns));
  }
  u_stride_ = OddLines(piece_rows_ * piece_columns_);
}

std::size_t WinogradWeightGrad::workspace_floats() const {
  const std::size_t rows = RoundUp(std::max(shape_.channels, shape_.outputs), kLine);
  const std::size_t pieces = one_block_ ? workers_ : 1;
  return kGemmDepth + 2 * rows + tiles_.positions() * (v_stride_ + d_stride_ + pieces * u_stride_);
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

void WinogradWeightGrad::Multiply(const Call& call, const Piece& piece, std::size_t position,
                                  std::size_t tiles, bool add) const {
  const std::size_t step =
      gemm_.panel_floats_max / kGemmDepth / gemm_.panel_columns * gemm_.panel_columns;
  for (std::size_t j = 0; j < piece.columns.size; j += step) {
    TileEnd end;
    end.add_c = add;
    gemm_.multiply({.rows = piece.rows.size,
                    .columns = RoundUp(std::min(step, piece.columns.size - j), kernel_.lanes),
                    .depth = tiles,
                    .a = call.v + position * v_stride_ + piece.rows.begin,
                    .a_stride = gemm_.tile_rows,
                    .a_panels = true,
                    .a_step = OddLines(shape_.channels),
                    .panels = call.d + position * d_stride_ + (piece.columns.begin + j) * tiles,
                    .c = piece.u + position * u_stride_ + j,
                    .c_stride = piece_columns_,
                    .end = end});
  }
}

void WinogradWeightGrad::Gather(const Call& call, const Piece& piece) const {
  for (std::size_t r = 0; r < piece.rows.size; ++r) {
    float* taps[kWinogradTaps];
    for (std::size_t t = 0; t < kWinogradTaps; ++t) {
      taps[t] = call.args.dw + (t * shape_.channels + piece.rows.begin + r) * dw_stride_ +
                piece.columns.begin;
    }
    kernel_.weights_grad(piece.u + r * piece_columns_, u_stride_, piece.columns.size, taps,
                         {.accumulate = call.args.accumulate});
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

void WinogradWeightGrad::SpreadBlock(const Call& call, Range tiles, Parallel& parallel) const {
  parallel.Run(CeilDiv(tiles.size, kSharedTiles), [&](std::size_t task, std::size_t) {
    const Range part = RangeOf(task, kSharedTiles, tiles.size);
    Spread(call, {tiles.begin + part.begin, part.size}, part.begin, tiles.size);
  });
}

void WinogradWeightGrad::RunOneBlock(const Call& call, Parallel& parallel) const {
  SpreadBlock(call, {0, tiles_.count}, parallel);
  const std::size_t across = CeilDiv(shape_.outputs, piece_columns_);
  const std::size_t down = CeilDiv(shape_.channels, piece_rows_);
  parallel.Run(down * across, [&](std::size_t task, std::size_t worker) {
    const Piece piece{.rows = RangeOf(task / across, piece_rows_, shape_.channels),
                      .columns = RangeOf(task % across, piece_columns_, shape_.outputs),
                      .u = call.u + worker * tiles_.positions() * u_stride_};
    for (std::size_t p = 0; p < tiles_.positions(); ++p) {
      Multiply(call, piece, p, tiles_.count, false);
    }
    Gather(call, piece);
    if (task == 0 && call.args.dbias != nullptr) SumBias(call, tiles_.count, false);
  });
}

void WinogradWeightGrad::RunBlocks(const Call& call, Parallel& parallel) const {
  // Rows of dU; more than one piece for a position if there are many workers.
  const std::size_t cuts = CeilDiv(4 * workers_, tiles_.positions());
  const std::size_t rows = RoundUp(CeilDiv(shape_.channels, cuts), kLine);
  const auto piece = [&](std::size_t i, std::size_t size) {
    const Range range = RangeOf(i, size, shape_.channels);
    return Piece{range, {0, shape_.outputs}, call.u + range.begin * piece_columns_};
  };
  const std::size_t down = CeilDiv(shape_.channels, rows);
  for (std::size_t begin = 0; begin < tiles_.count; begin += block_tiles_) {
    const std::size_t tiles = std::min(block_tiles_, tiles_.count - begin);
    SpreadBlock(call, {begin, tiles}, parallel);
    parallel.Run(tiles_.positions() * down, [&](std::size_t task, std::size_t) {
      Multiply(call, piece(task % down, rows), task / down, tiles, begin > 0);
      if (task == 0 && call.args.dbias != nullptr) SumBias(call, tiles, begin > 0);
    });
  }
  parallel.Run(CeilDiv(shape_.channels, kGradRows),
               [&](std::size_t task, std::size_t) { Gather(call, piece(task, kGradRows)); });
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
  if (one_block_) {
    RunOneBlock(call, parallel);
  } else {
    RunBlocks(call, parallel);
  }
  if (args.dbias == nullptr) return;
  for (std::size_t o = 0; o < shape_.outputs; ++o) {
    args.dbias[o] = args.accumulate ? args.dbias[o] + bias[o] : bias[o];
  }
}

}  // namespace shoal::kernels
