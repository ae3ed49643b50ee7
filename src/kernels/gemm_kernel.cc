#include "kernels/gemm_kernel.h"

#include <algorithm>
#include <span>

#include "kernels/gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm_kernel.cc"
#include "kernels/simd_targets.h"
// clang-format off: this file is included again by foreach_target.h, once per target.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#if SHOAL_SIMD
#include "kernels/gemm_pack-inl.h"
#include "kernels/gemm_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

// Caches are reasoned, not probed: an L2 has 1 to 2 MiB where there is AVX-512, 256 KiB to
// 1 MiB with AVX2 only, 256 to 512 KiB in the large cores of phones. From 192 KiB on the
// size hardly matters, as A streams through in any case.
#if HWY_TARGET == HWY_AVX3
constexpr std::size_t kBlockColumns = 512;
constexpr std::size_t kRowsMax = 16 * kTileRows;
#elif HWY_TARGET == HWY_AVX2
constexpr std::size_t kBlockColumns = 256;
constexpr std::size_t kRowsMax = 32 * kTileRows;
#else
constexpr std::size_t kBlockColumns = 96;
constexpr std::size_t kRowsMax = 16 * kTileRows;
#endif
static_assert(kBlockColumns % kPanelColumns == 0);

struct Part {
  std::size_t begin;
  std::size_t size;
};

TileEnd EndAt(TileEnd end, std::size_t row, std::size_t column) {
  if (end.row_bias != nullptr) end.row_bias += row;
  if (end.column_bias != nullptr) end.column_bias += column;
  return end;
}

float* RowOfC(const GemmBlock& block, std::size_t i) {
  return block.c_rows != nullptr ? block.c_rows[i] : block.c + i * block.c_stride;
}

// Between rows of a tile of A, or between its columns if it is a panel.
std::size_t AStride(const GemmBlock& block) {
  if (!block.a_panels) return block.a_stride;
  return block.a_step == 0 ? kTileRows : block.a_step;
}

// A tile whose columns do not fill its vectors, or whose rows do not lie evenly in C, goes
// through a buffer where they do, so that nothing beside C is read or written.
void MultiplyThroughBuffer(TileFunction* tile, const GemmBlock& block, const float* a,
                           const float* panel, TileEnd end, Part rows, Part columns) {
  HWY_ALIGN float buffer[kTileRows * kPanelColumns] = {};
  HWY_ALIGN float bias[kPanelColumns] = {};
  if (end.add_c) {
    for (std::size_t i = 0; i < rows.size; ++i) {
      CopyRows(RowOfC(block, rows.begin + i) + columns.begin, 0, 1, columns.size,
               buffer + i * kPanelColumns, 0);
    }
  }
  if (end.column_bias != nullptr) {
    std::copy_n(end.column_bias, columns.size, bias);
    end.column_bias = bias;
  }
  tile(block.depth, a, AStride(block), panel, end, buffer, kPanelColumns);
  for (std::size_t i = 0; i < rows.size; ++i) {
    CopyRows(buffer + i * kPanelColumns, 0, 1, columns.size,
             RowOfC(block, rows.begin + i) + columns.begin, 0);
  }
}

// Rows outside, panels inside: a tile's rows of A stay in the L1 while panels come from
// the L2. The other order measured a tenth slower.
void MultiplyBlock(const GemmBlock& block) {
  const auto& tiles = block.a_panels ? kPanelTiles : kTiles;
  const std::size_t a_step = block.a_panels ? block.a_stride : kTileRows * block.a_stride;
  const float* a = block.a;
  for (std::size_t i = 0; i < block.rows; i += kTileRows, a += a_step) {
    const std::size_t rows = std::min(kTileRows, block.rows - i);
    for (std::size_t j = 0; j < block.columns; j += kPanelColumns) {
      const std::size_t columns = std::min(kPanelColumns, block.columns - j);
      TileFunction* tile = tiles[(columns - 1) / kLanes][rows - 1];
      const float* panel = block.panels + j * block.depth;
      const TileEnd end = EndAt(block.end, i, j);
      if (columns % kLanes == 0 && block.c_rows == nullptr) {
        float* c = block.c + i * block.c_stride + j;
        tile(block.depth, a, AStride(block), panel, end, c, block.c_stride);
      } else {
        MultiplyThroughBuffer(tile, block, a, panel, end, {i, rows}, {j, columns});
      }
    }
  }
}

}  // namespace

GemmKernel Kernel() {
  return {.panel_columns = kPanelColumns,
          .panel_floats_max = kGemmDepth * kBlockColumns,
          .rows_max = kRowsMax,
          .tile_rows = kTileRows,
          .multiply = &MultiplyBlock,
          .copy = &CopyRows,
          .transpose = &Transpose,
          .pack_a = &PackColumns<kTileRows>};
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace shoal::kernels {

GemmKernel ChooseGemmKernel(Target target) {
  static constexpr Implementation<GemmKernel()> kTable[] = {
      SHOAL_SIMD_ROWS(GemmKernel(), Kernel){Target::kRef, &RefGemmKernel},
  };
  return Choose(std::span<const Implementation<GemmKernel()>>(kTable), target)();
}

}  // namespace shoal::kernels
#endif
