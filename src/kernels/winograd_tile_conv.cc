#include "kernels/winograd_tile_conv.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/gemm.h"

// The multiplications of a position, over the channels, are a GEMM: [tiles, channels] ·
// [channels, outputs]. The weights are transformed once per run, into panels of that GEMM; then a
// block of tiles at a time goes through
//
//   spread     x -> V[position][tile][channel]
//   multiply   V · U -> M[position][tile][output], a GEMM per position
//   gather     M -> y
//
// An output depends on its own tile only, so blocks may be cut as the number of workers likes.
namespace shoal::kernels {
namespace {

// Rows of the transformed weights that a task makes; divides kGemmDepth.
constexpr std::size_t kWeightRows = 16;
static_assert(kGemmDepth % kWeightRows == 0);

// Tiles that a task of a shared block transforms.
constexpr std::size_t kSharedTiles = 4;

// V and M of a worker, in floats, and the tiles that a block has at least.
constexpr std::size_t kBlockFloats = std::size_t{256} << 10U;
constexpr std::size_t kBlockTilesMin = 48;

constexpr std::size_t kLine = 16;  // Floats of a cache line.

// A stride between positions that are read together: an odd number of lines, because powers of
// two would all fall into the same set of the L1.
std::size_t PositionStride(std::size_t floats) { return RoundUp(floats, 2 * kLine) + kLine; }

Range RangeOf(std::size_t task, std::size_t size, std::size_t end) {
  return {task * size, std::min(size, end - task * size)};
}

}  // namespace

// The operands of a run, and where its parts lie in the workspace.
struct WinogradTileConv::Call {
  const WinogradTileConvArgs& args;
  WinogradImages<const float> x;
  WinogradImages<float> y;  // Without `outside`.
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
  const std::size_t tile_floats = tiles_.positions() * (channels + outputs);
  const std::size_t fitting = std::max(kBlockTilesMin, kBlockFloats / tile_floats);
  shared_ = tiles_.count < 2 * workers_ * fitting;
  const std::size_t tiles_max = shared_ ? workers_ * fitting : fitting;
  const std::size_t blocks = std::max<std::size_t>(1, CeilDiv(tiles_.count, tiles_max));
  // Whole rows of the GEMM's tiles: the rest would cost nearly as much as six more.
  block_tiles_ = std::min(tiles_.count, RoundUp(CeilDiv(tiles_.count, blocks), gemm_.tile_rows));
  u_stride_ = PositionStride(shape.channels * RoundUp(shape.outputs, gemm_.panel_columns));
  v_stride_ = PositionStride(block_tiles_ * channels);
  m_stride_ = PositionStride(block_tiles_ * outputs);
}

// A row of zeros, one for what nobody reads.
std::size_t WinogradTileConv::row_floats() const {
  return RoundUp(std::max(shape_.channels, shape_.outputs), kLine);
}

std::size_t WinogradTileConv::worker_floats() const {
  const std::size_t turned =
      weights_.turned ? kWinogradTaps * kWeightRows * RoundUp(shape_.outputs, kLine) : 0;
  const std::size_t block = shared_ ? 0 : tiles_.positions() * (v_stride_ + m_stride_);
  return row_floats() + std::max(turned, block);
}

std::size_t WinogradTileConv::workspace_floats() const {
  const std::size_t block = shared_ ? tiles_.positions() * (v_stride_ + m_stride_) : 0;
  return row_floats() + tiles_.positions() * u_stride_ + block + workers_ * worker_floats();
}

// Rows of U, from all outputs of as many channels; `scratch` is for those of turned weights.
void WinogradTileConv::TransformWeights(const Call& call, Range rows, float* scratch) const {
  const std::size_t channels = shape_.channels;
  const std::size_t outputs = shape_.outputs;
  const std::size_t scratch_stride = RoundUp(outputs, kLine);
  const float* taps[kWinogradTaps];
  std::size_t step = weights_.stride;
  for (std::size_t t = 0; t < kWinogradTaps; ++t) {
    if (weights_.turned) {
      float* tap = scratch + t * kWeightRows * scratch_stride;
      gemm_.transpose(call.args.w + t * outputs * weights_.stride + rows.begin, weights_.stride,
                      outputs, rows.size, tap, scratch_stride);
      taps[kWinogradTaps - 1 - t] = tap;
      step = scratch_stride;
    } else {
      taps[t] = call.args.w + (t * channels + rows.begin) * weights_.stride;
    }
  }
  const std::size_t depth_begin = rows.begin / kGemmDepth * kGemmDepth;
  const std::size_t depth = std::min(kGemmDepth, channels - depth_begin);
  const std::size_t width = gemm_.panel_columns;
  float* u = call.u + depth_begin * RoundUp(outputs, width) + (rows.begin - depth_begin) * width;
  for (std::size_t r = 0; r < rows.size; ++r) {
    kernel_.weights(taps, outputs,
                    {.data = u + r * width,
                     .position_stride = u_stride_,
                     .panel_columns = width,
                     .panel_stride = depth * width});
    for (const float*& tap : taps) tap += step;
  }
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

// Of one position, columns of M from all of k.
void WinogradTileConv::Multiply(const Call& call, std::size_t position, Range columns,
                                std::size_t rows) const {
  const std::size_t channels = shape_.channels;
  const std::size_t panel_columns = RoundUp(shape_.outputs, gemm_.panel_columns);
  const std::size_t depth_max = std::min(kGemmDepth, channels);
  const std::size_t step =
      gemm_.panel_floats_max / depth_max / gemm_.panel_columns * gemm_.panel_columns;
  const std::size_t c_stride = RoundUp(shape_.outputs, kLine);
  const std::size_t end = columns.begin + columns.size;
  for (std::size_t j = columns.begin; j < end; j += step) {
    for (std::size_t k = 0; k < channels; k += kGemmDepth) {
      const std::size_t depth = std::min(kGemmDepth, channels - k);
      TileEnd tile_end;
      tile_end.add_c = k > 0;
      gemm_.multiply({.rows = rows,
                      .columns = RoundUp(std::min(step, end - j), kernel_.lanes),
                      .depth = depth,
                      .a = call.v + position * v_stride_ + k,
                      .a_stride = RoundUp(channels, kLine),
                      .panels = call.u + position * u_stride_ + k * panel_columns + j * depth,
                      .c = call.m + position * m_stride_ + j,
                      .c_stride = c_stride,
                      .end = tile_end});
    }
  }
}

void WinogradTileConv::Gather(const Call& call, Range tiles, const float* m, float* outside) const {
  float* pixels[kWinogradOutputsMax];
  WinogradImages<float> y = call.y;
  y.outside = outside;
  for (std::size_t i = 0; i < tiles.size; ++i) {
    tiles_.Outputs(y, tiles.begin + i, pixels);
    kernel_.output(m + i * RoundUp(shape_.outputs, kLine), m_stride_, shape_.outputs, pixels,
                   call.args.end);
  }
}

void WinogradTileConv::RunBlock(const Call& call, Range tiles, float* outside) const {
  Spread(call, tiles, call.v);
  for (std::size_t p = 0; p < tiles_.positions(); ++p) {
    Multiply(call, p, {0, shape_.outputs}, tiles.size);
  }
  Gather(call, tiles, call.m, outside);
}

// `call.y.outside` is the first worker's row.
void WinogradTileConv::RunShared(const Call& call, Range tiles, Parallel& parallel) const {
  const std::size_t parts = CeilDiv(tiles.size, kSharedTiles);
  parallel.Run(parts, [&](std::size_t task, std::size_t) {
    const Range part = RangeOf(task, kSharedTiles, tiles.size);
    Spread(call, {tiles.begin + part.begin, part.size},
           call.v + part.begin * RoundUp(shape_.channels, kLine));
  });
  const std::size_t cuts = CeilDiv(4 * workers_, tiles_.positions());
  const std::size_t columns = RoundUp(CeilDiv(shape_.outputs, cuts), gemm_.panel_columns);
  const std::size_t across = CeilDiv(shape_.outputs, columns);
  parallel.Run(tiles_.positions() * across, [&](std::size_t task, std::size_t) {
    Multiply(call, task / across, RangeOf(task % across, columns, shape_.outputs), tiles.size);
  });
  parallel.Run(parts, [&](std::size_t task, std::size_t worker) {
    const Range part = RangeOf(task, kSharedTiles, tiles.size);
    Gather(call, {tiles.begin + part.begin, part.size},
           call.m + part.begin * RoundUp(shape_.outputs, kLine),
           call.y.outside + worker * worker_floats());
  });
}

void WinogradTileConv::Run(const WinogradTileConvArgs& args, float* workspace,
                           Parallel& parallel) const {
  SHOAL_CHECK_LE(parallel.workers(), workers_);
  float* zeros = workspace;
  float* u = zeros + row_floats();
  float* workers = u + tiles_.positions() * u_stride_;
  std::fill(zeros, zeros + row_floats(), 0.0F);
  Call call{.args = args,
            .x = {args.x, args.x_stride, shape_.height, shape_.width, zeros},
            .y = {args.y, args.y_stride, shape_.out_height(), shape_.out_width(), workers},
            .u = u,
            .v = workers + workers_ * worker_floats(),
            .m = nullptr};
  call.m = call.v + tiles_.positions() * v_stride_;
  parallel.Run(CeilDiv(shape_.channels, kWeightRows), [&](std::size_t task, std::size_t worker) {
    TransformWeights(call, RangeOf(task, kWeightRows, shape_.channels),
                     workers + worker * worker_floats() + row_floats());
  });
  const std::size_t blocks = CeilDiv(tiles_.count, block_tiles_);
  if (shared_) {
    for (std::size_t block = 0; block < blocks; ++block) {
      RunShared(call, RangeOf(block, block_tiles_, tiles_.count), parallel);
    }
    return;
  }
  parallel.Run(blocks, [&](std::size_t block, std::size_t worker) {
    float* outside = workers + worker * worker_floats();
    Call own = call;
    own.v = outside + row_floats();
    own.m = own.v + tiles_.positions() * v_stride_;
    RunBlock(own, RangeOf(block, block_tiles_, tiles_.count), outside);
  });
}

}  // namespace shoal::kernels
