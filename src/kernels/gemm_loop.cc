#include "kernels/gemm_loop.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "kernels/gemm_grid.h"

// How the loops nest, outermost first:
//
//   task        some rows and columns of C, on one worker       gemm_grid.h
//   block of B  columns × k-blocks whose panels fit the L2      packed here
//   rows        few enough that their part of C stays in the L2
//   k-block     kGemmDepth of k
//   tile        rows × columns whose sums fit the registers     gemm_kernel.cc
//
// A matrix A is read where it lies: a tile broadcasts from its rows as fast as from a packed copy,
// and the copy would cost up to a fifth of the time where n is 64. Rows that collide in the
// L1 (a stride of 4 KiB) lose 1 % only. If A is transposed, the rows are copied after all.
namespace shoal::kernels {
namespace {

// Panels are filled this many rows of B at a time, so that B is read in nearly the order in
// which it lies in memory: from beyond the L2 that is a third faster than panel by panel.
constexpr std::size_t kPackRows = 8;

// Rows of C that are found by a grid in one go.
constexpr std::size_t kGridRowsMax = 256;

std::size_t CeilDiv(std::size_t a, std::size_t b) { return (a + b - 1) / b; }
std::size_t RoundUp(std::size_t a, std::size_t b) { return CeilDiv(a, b) * b; }

// A k of 0 is one empty block.
std::size_t KBlocks(std::size_t k) { return std::max<std::size_t>(1, CeilDiv(k, kGemmDepth)); }
Range KBlock(std::size_t k, std::size_t block) {
  const std::size_t begin = block * kGemmDepth;
  return {begin, std::min(kGemmDepth, k - begin)};
}

// Packed op(B)[k, columns]: for each k-block, for each panel, its rows.
struct Panels {
  const float* data;
  std::size_t k_begin;
  std::size_t column_begin;
  std::size_t columns;  // Padded to whole panels.

  const float* Block(Range k, std::size_t column) const {
    return data + (k.begin - k_begin) * columns + (column - column_begin) * k.size;
  }
};

// Rows `k` of one matrix, which become rows [row, …) of panels that are `depth` high.
void PackPiece(const GemmKernel& kernel, const MatrixRef& b, Range k, Range columns,
               std::size_t row, std::size_t depth, float* out) {
  const std::size_t step = b.transposed ? k.size : kPackRows;
  const std::size_t width = kernel.panel_columns;
  for (std::size_t r = 0; r < k.size; r += step) {
    const std::size_t rows = std::min(step, k.size - r);
    for (std::size_t j = 0; j < columns.size; j += width) {
      const std::size_t filled = std::min(width, columns.size - j);
      const float* in = b.At(k.begin + r, columns.begin + j);
      float* panel = out + j * depth + (row + r) * width;
      if (b.transposed) {
        kernel.transpose(in, b.stride, filled, rows, panel, width);
      } else {
        kernel.copy(in, b.stride, rows, filled, panel, width);
      }
      if (filled == width) continue;
      for (std::size_t i = 0; i < rows; ++i) {
        std::fill(panel + i * width + filled, panel + (i + 1) * width, 0.0F);
      }
    }
  }
}

// One call, and the steps of its loops. Constant while tasks run.
struct Call {
  const GemmLoop& loop;
  const GemmKernel& kernel;
  GemmGrid grid;
  std::size_t block_columns;   // Of a block of B …
  std::size_t block_k_blocks;  // … and its height.
  std::size_t row_step;
  std::size_t copy_rows;  // row_step if A is copied, or 0.

  std::size_t panel_floats() const {
    return RoundUp(block_columns, kernel.panel_columns) *
           std::min(loop.k, block_k_blocks * kGemmDepth);
  }
  // What a worker needs, in whole cache lines.
  std::size_t worker_floats() const {
    const std::size_t panels = loop.b.packed == nullptr ? RoundUp(panel_floats(), 16) : 0;
    return panels + copy_rows * kGemmCopyStride;
  }
};

Call MakeCall(const GemmLoop& loop, const GemmKernel& kernel, std::size_t workers) {
  const GemmGrid grid = ChooseGemmGrid(loop.m, loop.n, loop.k, kernel.panel_columns, workers);
  const std::size_t columns = std::min(grid.columns, kernel.panel_floats_max / kGemmDepth);
  const std::size_t k_blocks =
      kernel.panel_floats_max / kGemmDepth / RoundUp(columns, kernel.panel_columns);
  const std::size_t copy_rows = std::min(loop.a->copy_rows(kernel), grid.rows);
  return {.loop = loop,
          .kernel = kernel,
          .grid = grid,
          .block_columns = columns,
          .block_k_blocks = std::max<std::size_t>(1, k_blocks),
          .row_step = copy_rows == 0 ? kernel.rows_max : copy_rows,
          .copy_rows = copy_rows};
}

TileEnd EndOf(const GemmLoop& loop, std::size_t row, std::size_t column, Range k) {
  TileEnd end;
  end.add_c = k.begin > 0 || loop.beta != 0;
  end.beta = k.begin > 0 ? 1 : loop.beta;
  if (k.begin + k.size < loop.k) return end;
  if (loop.row_bias != nullptr) end.row_bias = loop.row_bias + row;
  if (loop.column_bias != nullptr) end.column_bias = loop.column_bias + column;
  end.relu = loop.relu;
  return end;
}

void MultiplyKBlock(const Call& call, Range rows, Range columns, Range k, const float* panels,
                    float* copy, float* const* c_rows) {
  const GemmLoop& loop = call.loop;
  const GemmA::Block a = loop.a->Get(call.kernel, rows, k, copy);
  call.kernel.multiply({.rows = rows.size,
                        .columns = columns.size,
                        .depth = k.size,
                        .a = a.data,
                        .a_stride = a.stride,
                        .panels = panels,
                        .c = loop.c + rows.begin * loop.c_stride + columns.begin,
                        .c_stride = loop.c_stride,
                        .c_rows = c_rows,
                        .end = EndOf(loop, rows.begin, columns.begin, k)});
}

// k-blocks [first, last) of rows × columns of C.
void MultiplyRows(const Call& call, Range rows, Range columns, std::size_t first, std::size_t last,
                  const Panels& panels, float* copy) {
  const GemmLoop& loop = call.loop;
  std::array<float*, kGridRowsMax> c_rows;
  if (loop.c_grid != nullptr) {
    SHOAL_CHECK_LE(rows.size, kGridRowsMax);
    for (std::size_t i = 0; i < rows.size; ++i) {
      c_rows[i] = loop.c + loop.c_grid->At(rows.begin + i) * loop.c_stride + columns.begin;
    }
  }
  for (std::size_t block = first; block < last; ++block) {
    const Range k = KBlock(loop.k, block);
    MultiplyKBlock(call, rows, columns, k, panels.Block(k, columns.begin), copy,
                   loop.c_grid != nullptr ? c_rows.data() : nullptr);
  }
}

// Packs k-blocks [first, last) of the columns into `out`, or finds them packed.
Panels GetPanels(const Call& call, Range columns, std::size_t first, std::size_t last, float* out) {
  const GemmLoop& loop = call.loop;
  const std::size_t width = call.kernel.panel_columns;
  if (loop.b.packed != nullptr) return {loop.b.packed, 0, 0, RoundUp(loop.n, width)};
  const Panels panels{out, first * kGemmDepth, columns.begin, RoundUp(columns.size, width)};
  for (std::size_t block = first; block < last; ++block) {
    const Range k = KBlock(loop.k, block);
    PackPanels(call.kernel, loop.b, k, columns, out + (k.begin - panels.k_begin) * panels.columns);
  }
  return panels;
}

// All of k for rows × columns of C.
void RunTask(const Call& call, Range rows, Range columns, float* buffer) {
  const std::size_t k_blocks = KBlocks(call.loop.k);
  float* copy = buffer + (call.worker_floats() - call.copy_rows * kGemmCopyStride);
  for (std::size_t j = 0; j < columns.size; j += call.block_columns) {
    const Range block_columns{columns.begin + j, std::min(call.block_columns, columns.size - j)};
    for (std::size_t first = 0; first < k_blocks; first += call.block_k_blocks) {
      const std::size_t last = std::min(k_blocks, first + call.block_k_blocks);
      const Panels panels = GetPanels(call, block_columns, first, last, buffer);
      for (std::size_t i = 0; i < rows.size; i += call.row_step) {
        const Range some_rows{rows.begin + i, std::min(call.row_step, rows.size - i)};
        MultiplyRows(call, some_rows, block_columns, first, last, panels, copy);
      }
    }
  }
}

}  // namespace

void PackPanels(const GemmKernel& kernel, const GemmB& b, Range k, Range columns, float* out) {
  for (std::size_t r = 0; r < k.size;) {
    const std::size_t piece = (k.begin + r) / b.piece_k;
    const std::size_t begin = (k.begin + r) % b.piece_k;
    const std::size_t rows = std::min(k.size - r, b.piece_k - begin);
    PackPiece(kernel, b.pieces[piece], {begin, rows}, columns, r, k.size, out);
    r += rows;
  }
}

std::size_t GemmLoopFloats(const GemmLoop& loop, const GemmKernel& kernel, std::size_t workers) {
  if (loop.m == 0 || loop.n == 0) return 0;
  return MakeCall(loop, kernel, workers).worker_floats() * workers;
}

void RunGemmLoop(const GemmLoop& loop, const GemmKernel& kernel, float* buffers,
                 Parallel& parallel) {
  if (loop.m == 0 || loop.n == 0) return;
  const Call call = MakeCall(loop, kernel, parallel.workers());
  const std::size_t across = CeilDiv(loop.n, call.grid.columns);
  const std::size_t down = CeilDiv(loop.m, call.grid.rows);
  const std::size_t floats = call.worker_floats();
  parallel.Run(across * down, [&](std::size_t task, std::size_t worker) {
    const std::size_t row = task / across * call.grid.rows;
    const std::size_t column = task % across * call.grid.columns;
    RunTask(call, {row, std::min(call.grid.rows, loop.m - row)},
            {column, std::min(call.grid.columns, loop.n - column)}, buffers + worker * floats);
  });
}

}  // namespace shoal::kernels
