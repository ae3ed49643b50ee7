#include "kernels/winograd_tile_conv.h"

#include <hwy/cache_control.h>

#include <algorithm>

#include "base/check.h"
#include "kernels/gemm.h"

// The multiplications of a position, over the channels, are a GEMM: [tiles, channels] ·
// [channels, outputs]. A block of tiles goes through
//
//   spread     x -> V[position][tile][channel]
//   multiply   V · U -> M[position][tile][output], a GEMM per position
//   gather     M -> y
//
// with U, the transformed weights, in panels of that GEMM. There are two ways to go about it:
//
//   blocks     U is made first, in full; then every worker takes blocks of tiles through all
//              three. An output depends on its own tile only, so blocks may be cut as the number
//              of workers likes.
//   streamed   Few tiles, which come with many channels: U would be larger than V and M. All V is
//              made first; then a task makes some columns of y from some columns of the weights,
//              a piece at a time that never leaves its L2. With 7 × 7 pixels of 512 channels in a
//              batch of 4, U would have 37 MB, and F4 would take 1.2 times as long forward, 1.7
//              times backward.
namespace shoal::kernels {
namespace {

// Rows of the transformed weights that a task makes; divides kGemmDepth.
constexpr std::size_t kWeightRows = 16;
static_assert(kGemmDepth % kWeightRows == 0);

// V and M of a worker, in floats, and the tiles that a block has at least if U is large. From 12
// tiles and 256 KiB on, x86 hardly cares.
constexpr std::size_t kBlockFloats = std::size_t{256} << 10U;
constexpr std::size_t kBlockTilesMin = 48;
constexpr std::size_t kBlockCost = 3;  // Of fetching U, in tiles.

// Streamed: the most tiles, and the size of a piece of the weights (columns in whole panels). The
// rows are a k-block: part of the arithmetic, as kGemmDepth is, and so is the choice.
constexpr std::size_t kStreamedTilesMax = 128;
constexpr std::size_t kStreamedRows = 64;
constexpr std::size_t kStreamedColumns = 32;

constexpr std::size_t kSpreadTiles = 4;  // Tiles that a task transforms.
constexpr std::size_t kLine = 16;        // Floats of a cache line.

// A stride between positions that are read together: an odd number of lines, because powers of
// two would all fall into the same set of the L1.
std::size_t PositionStride(std::size_t floats) { return RoundUp(floats, 2 * kLine) + kLine; }

// Each row of a piece of the weights is on another page, where the hardware does not follow; asking
// for it this many rows ahead makes F4 of 7 × 7 × 512 a tenth faster.
constexpr std::size_t kPrefetchRows = 8;

void Prefetch(const float* const (&taps)[kWinogradTaps], std::size_t offset, std::size_t columns) {
  for (const float* tap : taps) {
    for (std::size_t j = 0; j < columns; j += kLine) hwy::Prefetch(tap + offset + j);
  }
}

Range RangeOf(std::size_t task, std::size_t size, std::size_t end) {
  return {task * size, std::min(size, end - task * size)};
}

// Tiles of a block: whole tiles of the GEMM, because a part of one costs nearly as much, and such
// that the worker with most blocks is done soonest. 5 blocks for two workers would waste a sixth.
std::size_t ChooseBlockTiles(std::size_t count, std::size_t tile_rows, std::size_t tiles_max,
                             std::size_t workers) {
  std::size_t best = 0;
  std::size_t best_cost = 0;
  for (std::size_t tiles = 2 * tile_rows; best == 0 || tiles <= tiles_max; tiles += tile_rows) {
    const std::size_t blocks = CeilDiv(CeilDiv(count, tiles), workers);
    const std::size_t cost = blocks * (tiles + kBlockCost);
    if (best == 0 || cost < best_cost) {
      best = tiles;
      best_cost = cost;
    }
  }
  return std::min(best, count);
}

}  // namespace

// The operands of a run, and where its parts lie in the workspace.
struct WinogradTileConv::Call {
  const WinogradTileConvArgs& args;
  WinogradImages<const float> x;
  WinogradImages<float> y;  // Without `outside`, which is each worker's own.
  float* workers;
  float* u;
  float* v;
  float* m;
};

WinogradTileConv::WinogradTileConv(std::size_t side, const ConvShape& shape,
                                   const WinogradWeights& weights, const ConvOptions& options)
    : shape_(shape),
      weights_(weights),
      workers_(options.workers),
      gemm_(ChooseGemmKernel(options.target)),
      kernel_(ChooseWinogradKernel(side, options.target)),
      tiles_(MakeWinogradTiles(side, shape.batch, shape.out_height(), shape.out_width(),
                               shape.pad_h, shape.pad_w)) {
  SHOAL_CHECK_EQ(gemm_.panel_columns % kernel_.lanes, std::size_t{0});
  const std::size_t channels = RoundUp(shape.channels, kLine);
  const std::size_t outputs = RoundUp(shape.outputs, kLine);
  streamed_ = tiles_.count <= kStreamedTilesMax &&
              shape.channels * shape.outputs >= 2 * tiles_.count * (shape.channels + shape.outputs);
  if (streamed_) {
    columns_ = std::min(outputs, RoundUp(kStreamedColumns, gemm_.panel_columns));
    block_tiles_ = tiles_.count;
    u_stride_ = PositionStride(std::min(kStreamedRows, shape.channels) *
                               RoundUp(columns_, gemm_.panel_columns));
  } else {
    const std::size_t tile_floats = tiles_.positions() * (channels + outputs);
    const std::size_t fitting = std::max(kBlockTilesMin, kBlockFloats / tile_floats);
    block_tiles_ = ChooseBlockTiles(tiles_.count, gemm_.tile_rows, fitting, workers_);
    columns_ = outputs;
    u_stride_ = PositionStride(shape.channels * RoundUp(shape.outputs, gemm_.panel_columns));
  }
  v_stride_ = PositionStride(block_tiles_ * channels);
  m_stride_ = PositionStride(block_tiles_ * columns_);
}

// A row of zeros, one for what nobody reads.
std::size_t WinogradTileConv::row_floats() const {
  return RoundUp(std::max(shape_.channels, shape_.outputs), kLine);
}

// For a copy of turned weights.
std::size_t WinogradTileConv::scratch_floats() const {
  if (!weights_.turned) return 0;
  return kWinogradTaps * (streamed_ ? kStreamedRows : kWeightRows) * RoundUp(columns_, kLine);
}

// Streamed weights and M; or V and M, whose place the scratch takes while U is made.
std::size_t WinogradTileConv::worker_floats() const {
  const std::size_t positions = tiles_.positions();
  if (streamed_) return row_floats() + scratch_floats() + positions * (u_stride_ + m_stride_);
  return row_floats() + std::max(scratch_floats(), positions * (v_stride_ + m_stride_));
}

std::size_t WinogradTileConv::shared_floats() const {
  return row_floats() + tiles_.positions() * (streamed_ ? v_stride_ : u_stride_);
}

std::size_t WinogradTileConv::workspace_floats() const {
  return shared_floats() + workers_ * worker_floats();
}

// Rows and columns of U; `to` is where the first row begins.
void WinogradTileConv::TransformWeights(const Call& call, Range rows, Range columns,
                                        const WinogradPanels& to, float* scratch) const {
  const std::size_t scratch_stride = RoundUp(columns.size, kLine);
  const std::size_t step = weights_.turned ? scratch_stride : weights_.stride;
  const float* taps[kWinogradTaps];
  for (std::size_t t = 0; t < kWinogradTaps; ++t) {
    if (weights_.turned) {
      float* tap = scratch + t * rows.size * scratch_stride;
      const std::size_t first = t * shape_.outputs + columns.begin;
      gemm_.transpose(call.args.w + first * weights_.stride + rows.begin, weights_.stride,
                      columns.size, rows.size, tap, scratch_stride);
      taps[kWinogradTaps - 1 - t] = tap;
    } else {
      const std::size_t first = t * shape_.channels + rows.begin;
      taps[t] = call.args.w + first * weights_.stride + columns.begin;
    }
  }
  WinogradPanels row = to;
  for (std::size_t r = 0; r < rows.size; ++r) {
    if (streamed_ && !weights_.turned && r + kPrefetchRows < rows.size) {
      Prefetch(taps, kPrefetchRows * step, columns.size);
    }
    kernel_.weights(taps, columns.size, row);
    row.data += row.panel_columns;
    for (const float*& tap : taps) tap += step;
  }
}

// All columns, as k-blocks of panels.
void WinogradTileConv::TransformAllWeights(const Call& call, Range rows, float* scratch) const {
  const std::size_t width = gemm_.panel_columns;
  const std::size_t k = rows.begin / kGemmDepth * kGemmDepth;
  const std::size_t depth = std::min(kGemmDepth, shape_.channels - k);
  float* u = call.u + k * RoundUp(shape_.outputs, width) + (rows.begin - k) * width;
  TransformWeights(call, rows, {0, shape_.outputs},
                   {.data = u,
                    .position_stride = u_stride_,
                    .panel_columns = width,
                    .panel_stride = depth * width},
                   scratch);
}

void WinogradTileConv::Spread(const Call& call, Range tiles, float* v) const {
  const float* pixels[kWinogradPositionsMax];
  const std::size_t width = gemm_.panel_columns;
  for (std::size_t i = 0; i < tiles.size; ++i) {
    tiles_.Inputs(call.x, tiles.begin + i, pixels);
    kernel_.input(pixels, shape_.channels,
                  {.data = v + i * RoundUp(shape_.channels, kLine),
                   .position_stride = v_stride_,
                   .panel_columns = width,
                   .panel_stride = width});
  }
}

// All columns of M at one position, from all of k.
void WinogradTileConv::Multiply(const Call& call, std::size_t position, std::size_t rows) const {
  const std::size_t channels = shape_.channels;
  const std::size_t outputs = shape_.outputs;
  const std::size_t width = gemm_.panel_columns;
  const std::size_t step = gemm_.panel_floats_max / std::min(kGemmDepth, channels) / width * width;
  for (std::size_t j = 0; j < outputs; j += step) {
    for (std::size_t k = 0; k < channels; k += kGemmDepth) {
      const std::size_t depth = std::min(kGemmDepth, channels - k);
      gemm_.multiply(
          {.rows = rows,
           .columns = RoundUp(std::min(step, outputs - j), kernel_.lanes),
           .depth = depth,
           .a = call.v + position * v_stride_ + k,
           .a_stride = RoundUp(channels, kLine),
           .panels = call.u + position * u_stride_ + k * RoundUp(outputs, width) + j * depth,
           .c = call.m + position * m_stride_ + j,
           .c_stride = columns_,
           .end = {.add_c = k > 0}});
    }
  }
}

void WinogradTileConv::Gather(const Call& call, Range tiles, Range columns, const float* m,
                              float* outside) const {
  float* pixels[kWinogradOutputsMax];
  WinogradImages<float> y = call.y;
  y.data += columns.begin;
  y.outside = outside;
  WinogradEnd end = call.args.end;
  if (end.bias != nullptr) end.bias += columns.begin;
  for (std::size_t i = 0; i < tiles.size; ++i) {
    tiles_.Outputs(y, tiles.begin + i, pixels);
    kernel_.output(m + i * columns_, m_stride_, columns.size, pixels, end);
  }
}

void WinogradTileConv::RunBlock(const Call& call, Range tiles, float* outside) const {
  Spread(call, tiles, call.v);
  for (std::size_t p = 0; p < tiles_.positions(); ++p) Multiply(call, p, tiles.size);
  Gather(call, tiles, {0, shape_.outputs}, call.m, outside);
}

void WinogradTileConv::RunBlocks(const Call& call, Parallel& parallel) const {
  parallel.Run(CeilDiv(shape_.channels, kWeightRows), [&](std::size_t task, std::size_t worker) {
    float* scratch = call.workers + worker * worker_floats() + row_floats();
    TransformAllWeights(call, RangeOf(task, kWeightRows, shape_.channels), scratch);
  });
  const std::size_t blocks = CeilDiv(tiles_.count, block_tiles_);
  parallel.Run(blocks, [&](std::size_t block, std::size_t worker) {
    float* outside = call.workers + worker * worker_floats();
    Call own = call;
    own.v = outside + row_floats();
    own.m = own.v + tiles_.positions() * v_stride_;
    RunBlock(own, RangeOf(block, block_tiles_, tiles_.count), outside);
  });
}

void WinogradTileConv::RunColumns(const Call& call, Range columns, float* outside) const {
  const std::size_t channels = shape_.channels;
  const std::size_t width = gemm_.panel_columns;
  float* scratch = call.m + tiles_.positions() * m_stride_;
  for (std::size_t k = 0; k < channels; k += kStreamedRows) {
    const std::size_t depth = std::min(kStreamedRows, channels - k);
    TransformWeights(call, {k, depth}, columns,
                     {.data = call.u,
                      .position_stride = u_stride_,
                      .panel_columns = width,
                      .panel_stride = depth * width},
                     scratch);
    for (std::size_t p = 0; p < tiles_.positions(); ++p) {
      gemm_.multiply({.rows = tiles_.count,
                      .columns = RoundUp(columns.size, kernel_.lanes),
                      .depth = depth,
                      .a = call.v + p * v_stride_ + k,
                      .a_stride = RoundUp(channels, kLine),
                      .panels = call.u + p * u_stride_,
                      .c = call.m + p * m_stride_,
                      .c_stride = columns_,
                      .end = {.add_c = k > 0}});
    }
  }
  Gather(call, {0, tiles_.count}, columns, call.m, outside);
}

void WinogradTileConv::RunStreamed(const Call& call, Parallel& parallel) const {
  parallel.Run(CeilDiv(tiles_.count, kSpreadTiles), [&](std::size_t task, std::size_t) {
    const Range tiles = RangeOf(task, kSpreadTiles, tiles_.count);
    Spread(call, tiles, call.v + tiles.begin * RoundUp(shape_.channels, kLine));
  });
  parallel.Run(CeilDiv(shape_.outputs, columns_), [&](std::size_t task, std::size_t worker) {
    float* outside = call.workers + worker * worker_floats();
    Call own = call;
    own.u = outside + row_floats();
    own.m = own.u + tiles_.positions() * u_stride_;
    RunColumns(own, RangeOf(task, columns_, shape_.outputs), outside);
  });
}

void WinogradTileConv::Run(const WinogradTileConvArgs& args, float* workspace,
                           Parallel& parallel) const {
  SHOAL_CHECK_LE(parallel.workers(), workers_);
  float* zeros = workspace;
  std::fill(zeros, zeros + row_floats(), 0.0F);
  float* shared = zeros + row_floats();
  const Call call{.args = args,
                  .x = {args.x, args.x_stride, shape_.height, shape_.width, zeros},
                  .y = {args.y, args.y_stride, shape_.out_height(), shape_.out_width(), nullptr},
                  .workers = workspace + shared_floats(),
                  .u = streamed_ ? nullptr : shared,
                  .v = streamed_ ? shared : nullptr,
                  .m = nullptr};
  if (streamed_) {
    RunStreamed(call, parallel);
  } else {
    RunBlocks(call, parallel);
  }
}

}  // namespace shoal::kernels
