// What the blocked GEMM (gemm.cc) needs from an instruction set. Internal to kernels/.
#pragma once

#include <cstddef>

#include "kernels/target.h"

namespace shoal::kernels {

// What happens to the sums of a k-block on their way into C.
struct TileEnd {
  bool add_c = false;                  // Whether C is read: not in the first k-block if beta is 0.
  float beta = 1;                      // C's factor: the caller's in the first k-block, then 1.
  const float* row_bias = nullptr;     // Of the first row; null except in the last k-block.
  const float* column_bias = nullptr;  // Of the first column; as above.
  bool relu = false;                   // As above.
};

// C[rows, columns] gets A[rows, depth] · B[depth, columns]: one k-block.
struct GemmBlock {
  std::size_t rows;
  std::size_t columns;
  std::size_t depth;  // At most kGemmDepth, or 0.
  // Row-major, a_stride floats between rows; or in panels [rows / tile_rows, depth, tile_rows]
  // with a_stride floats between panels, and a_step between the columns of A in one. Panels of a
  // matrix that lies column by column are tile_rows floats apart; keep its a_step off powers of
  // two: the lines that a tile reads should stay in the L1 for the next one. Of a column, tile_rows
  // floats are read even if fewer rows remain.
  const float* a;
  std::size_t a_stride;
  bool a_panels = false;
  std::size_t a_step = 0;  // 0 stands for tile_rows.
  const float* panels;  // B as [columns / panel_columns, depth, panel_columns], padded with zeros.
  float* c;             // Row-major, unless c_rows says where each row is.
  std::size_t c_stride;
  float* const* c_rows = nullptr;
  TileEnd end;
};

// Copies a row-major matrix, which may not overlap with the copy.
using CopyFunction = void(const float* in, std::size_t in_stride, std::size_t rows,
                          std::size_t columns, float* out, std::size_t out_stride);

struct GemmKernel {
  std::size_t panel_columns;  // Columns of a tile.
  // The floats of packed B that a core keeps in its L2 beside what streams through it.
  std::size_t panel_floats_max;
  // Rows that share a trip through C and, if A has to be copied, a copy.
  std::size_t rows_max;
  std::size_t tile_rows;  // Of a panel of A.
  void (*multiply)(const GemmBlock& block);
  CopyFunction* copy;       // out[r * out_stride + c] = in[r * in_stride + c]
  CopyFunction* transpose;  // out[c * out_stride + r] = in[r * in_stride + c]
  // Columns into panels of A, out_stride floats apart: p = c / tile_rows,
  // out[p * out_stride + r * tile_rows + c % tile_rows] = in[r * in_stride + c]
  CopyFunction* pack_a;
};

// The definition in plain C++ (gemm_ref.cc).
GemmKernel RefGemmKernel();

// The fastest that a CPU of `target` can run.
GemmKernel ChooseGemmKernel(Target target);

}  // namespace shoal::kernels
