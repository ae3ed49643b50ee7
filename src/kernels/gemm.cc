#include "kernels/gemm.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/gemm_grid.h"
#include "kernels/gemm_kernel.h"

// How the loops nest, outermost first:
//
//   task        some rows and columns of C, on one worker       gemm_grid.h
//   block of B  columns × k-blocks whose panels fit the L2      packed here
//   rows        few enough that their part of C stays in the L2
//   k-block     kGemmDepth of k
//   tile        rows × columns whose sums fit the registers     gemm_kernel.cc
//
// A is read where it lies: a tile broadcasts from its rows as fast as from a packed copy,
// and the copy would cost up to a fifth of the time where n is 64. Rows that collide in the
// L1 (a stride of 4 KiB) lose 1 % only. If A is transposed, the rows are copied after all.
namespace shoal::kernels {
namespace {

// Floats between the rows of a copy of A: a cache line more than a k-block, so that the
// rows of a tile do not collide in the L1.
constexpr std::size_t kCopyStride = kGemmDepth + 16;

// Panels are filled this many rows of B at a time, so that B is read in nearly the order in
// which it lies in memory: from beyond the L2 that is a third faster than panel by panel.
constexpr std::size_t kPackRows = 8;

struct Range {
  std::size_t begin;
  std::size_t size;
};

std::size_t CeilDiv(std::size_t a, std::size_t b) { return (a + b - 1) / b; }
std::size_t RoundUp(std::size_t a, std::size_t b) { return CeilDiv(a, b) * b; }

// A k of 0 is one empty block.
std::size_t KBlocks(std::size_t k) { return std::max<std::size_t>(1, CeilDiv(k, kGemmDepth)); }
Range KBlock(std::size_t k, std::size_t block) {
  const std::size_t begin = block * kGemmDepth;
  return {begin, std::min(kGemmDepth, k - begin)};
}

const float* At(const MatrixRef& m, std::size_t i, std::size_t j) {
  return m.transposed ? m.data + j * m.stride + i : m.data + i * m.stride + j;
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

// Writes the panels of op(b)[k, columns], k within a k-block, to `out`.
void PackBlock(const GemmKernel& kernel, const MatrixRef& b, Range k, Range columns, float* out) {
  const std::size_t step = b.transposed ? k.size : kPackRows;
  const std::size_t width = kernel.panel_columns;
  for (std::size_t r = 0; r < k.size; r += step) {
    const std::size_t rows = std::min(step, k.size - r);
    for (std::size_t j = 0; j < columns.size; j += width) {
      const std::size_t filled = std::min(width, columns.size - j);
      const float* in = At(b, k.begin + r, columns.begin + j);
      float* panel = out + j * k.size + r * width;
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
  const GemmArgs& args;
  const GemmKernel& kernel;
  GemmGrid grid;
  std::size_t block_columns;   // Of a block of B …
  std::size_t block_k_blocks;  // … and its height.

  std::size_t panel_floats() const {
    return RoundUp(block_columns, kernel.panel_columns) *
           std::min(args.k, block_k_blocks * kGemmDepth);
  }
  std::size_t copy_rows() const {
    return args.a.transposed ? std::min(kernel.rows_max, grid.rows) : 0;
  }
  // What a worker needs, in whole cache lines.
  std::size_t worker_floats() const {
    const std::size_t panels = args.packed_b == nullptr ? RoundUp(panel_floats(), 16) : 0;
    return panels + copy_rows() * kCopyStride;
  }
};

Call MakeCall(const GemmArgs& args, const GemmKernel& kernel, std::size_t workers) {
  const GemmGrid grid = ChooseGemmGrid(args.m, args.n, args.k, kernel.panel_columns, workers);
  const std::size_t columns = std::min(grid.columns, kernel.panel_floats_max / kGemmDepth);
  const std::size_t k_blocks =
      kernel.panel_floats_max / kGemmDepth / RoundUp(columns, kernel.panel_columns);
  return {args, kernel, grid, columns, std::max<std::size_t>(1, k_blocks)};
}

TileEnd EndOf(const GemmArgs& args, std::size_t row, std::size_t column, Range k) {
  TileEnd end;
  end.add_c = k.begin > 0 || args.beta != 0;
  end.beta = k.begin > 0 ? 1 : args.beta;
  if (k.begin + k.size < args.k) return end;
  if (args.row_bias != nullptr) end.row_bias = args.row_bias + row;
  if (args.column_bias != nullptr) end.column_bias = args.column_bias + column;
  end.relu = args.relu;
  return end;
}

void MultiplyKBlock(const Call& call, Range rows, Range columns, Range k, const float* panels,
                    float* copy) {
  const GemmArgs& args = call.args;
  const float* a = At(args.a, rows.begin, k.begin);
  std::size_t a_stride = args.a.stride;
  if (args.a.transposed) {
    call.kernel.transpose(a, a_stride, k.size, rows.size, copy, kCopyStride);
    a = copy;
    a_stride = kCopyStride;
  }
  call.kernel.multiply({.rows = rows.size,
                        .columns = columns.size,
                        .depth = k.size,
                        .a = a,
                        .a_stride = a_stride,
                        .panels = panels,
                        .c = args.c + rows.begin * args.c_stride + columns.begin,
                        .c_stride = args.c_stride,
                        .end = EndOf(args, rows.begin, columns.begin, k)});
}

// Packs k-blocks [first, last) of the columns into `out`, or finds them packed.
Panels GetPanels(const Call& call, Range columns, std::size_t first, std::size_t last, float* out) {
  const GemmArgs& args = call.args;
  const std::size_t width = call.kernel.panel_columns;
  if (args.packed_b != nullptr) return {args.packed_b->data(), 0, 0, RoundUp(args.n, width)};
  const Panels panels{out, first * kGemmDepth, columns.begin, RoundUp(columns.size, width)};
  for (std::size_t block = first; block < last; ++block) {
    const Range k = KBlock(args.k, block);
    PackBlock(call.kernel, args.b, k, columns, out + (k.begin - panels.k_begin) * panels.columns);
  }
  return panels;
}

// All of k for rows × columns of C.
void RunTask(const Call& call, Range rows, Range columns, float* buffer) {
  const std::size_t k_blocks = KBlocks(call.args.k);
  float* copy = buffer + (call.worker_floats() - call.copy_rows() * kCopyStride);
  for (std::size_t j = 0; j < columns.size; j += call.block_columns) {
    const Range block_columns{columns.begin + j, std::min(call.block_columns, columns.size - j)};
    for (std::size_t first = 0; first < k_blocks; first += call.block_k_blocks) {
      const std::size_t last = std::min(k_blocks, first + call.block_k_blocks);
      const Panels panels = GetPanels(call, block_columns, first, last, buffer);
      for (std::size_t i = 0; i < rows.size; i += call.kernel.rows_max) {
        const Range some_rows{rows.begin + i, std::min(call.kernel.rows_max, rows.size - i)};
        for (std::size_t block = first; block < last; ++block) {
          const Range k = KBlock(call.args.k, block);
          MultiplyKBlock(call, some_rows, block_columns, k, panels.Block(k, block_columns.begin),
                         copy);
        }
      }
    }
  }
}

}  // namespace

PackedB::PackedB(MatrixRef b, std::size_t k, std::size_t n, Parallel& parallel, Target target)
    : k_(k), n_(n), target_(target) {
  const GemmKernel kernel = ChooseGemmKernel(target);
  const std::size_t columns = RoundUp(n, kernel.panel_columns);
  float* out = buffer_.Reserve(k * columns);
  parallel.Run(CeilDiv(k, kGemmDepth), [&](std::size_t block, std::size_t) {
    const Range range = KBlock(k, block);
    PackBlock(kernel, b, range, {0, n}, out + range.begin * columns);
  });
}

void Gemm(const GemmArgs& args, GemmWorkspace& workspace, Parallel& parallel, Target target) {
  SHOAL_CHECK_GE(args.c_stride, args.n);
  if (args.packed_b != nullptr) {
    SHOAL_CHECK_EQ(args.packed_b->k(), args.k);
    SHOAL_CHECK_EQ(args.packed_b->n(), args.n);
    SHOAL_CHECK_EQ(args.packed_b->target(), target);
  }
  if (args.m == 0 || args.n == 0) return;
  const GemmKernel kernel = ChooseGemmKernel(target);
  const Call call = MakeCall(args, kernel, parallel.workers());
  const std::size_t across = CeilDiv(args.n, call.grid.columns);
  const std::size_t down = CeilDiv(args.m, call.grid.rows);
  const std::size_t floats = call.worker_floats();
  float* buffers = workspace.Reserve(floats * parallel.workers());
  parallel.Run(across * down, [&](std::size_t task, std::size_t worker) {
    const std::size_t row = task / across * call.grid.rows;
    const std::size_t column = task % across * call.grid.columns;
    RunTask(call, {row, std::min(call.grid.rows, args.m - row)},
            {column, std::min(call.grid.columns, args.n - column)}, buffers + worker * floats);
  });
}

}  // namespace shoal::kernels
