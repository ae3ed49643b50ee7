// The loops of the blocked GEMM, for operands that need not be matrices in memory: Gemm (gemm.h)
// gives them matrices, a convolution patches of its image. Internal to kernels/.
//
// The arithmetic is that of gemm.h, whatever the operands come from.
#pragma once

#include <cstddef>
#include <span>

#include "base/parallel.h"
#include "kernels/gemm.h"
#include "kernels/gemm_kernel.h"

namespace shoal::kernels {

struct Range {
  std::size_t begin = 0;
  std::size_t size = 0;
};

// Floats between the rows of a copy of A: a cache line more than a k-block, so that the
// rows of a tile do not collide in the L1.
inline constexpr std::size_t kGemmCopyStride = kGemmDepth + 16;

// op(A) of a GEMM. Read by several workers at once.
class GemmA {
 public:
  struct Block {
    const float* data;
    std::size_t stride;
  };
  virtual ~GemmA() = default;
  // How many rows are copied at once, or 0 if A is read where it lies.
  virtual std::size_t copy_rows(const GemmKernel& kernel) const = 0;
  // op(A)[rows, k], k within a k-block; a copy of it is written to `copy`, whose rows are
  // kGemmCopyStride apart.
  virtual Block Get(const GemmKernel& kernel, Range rows, Range k, float* copy) const = 0;
};

// op(B) of a GEMM: matrices of piece_k rows (the last may have fewer), one below the other.
struct GemmB {
  std::span<const MatrixRef> pieces;
  std::size_t piece_k = 0;
  const float* packed = nullptr;  // All of it, as PackedB has it; then there are no pieces.
};

// Writes the panels of op(b)[k, columns], k within a k-block, to `out`.
void PackPanels(const GemmKernel& kernel, const GemmB& b, Range k, Range columns, float* out);

// Where the rows of C lie, in rows of `GemmLoop::c_stride` floats: row i is a pixel of a grid of
// images. A matrix is a grid of one column.
struct GemmRowGrid {
  std::size_t rows = 1;  // Of an image.
  std::size_t columns = 1;
  std::size_t image_pitch = 0;
  std::size_t row_pitch = 0;
  std::size_t column_pitch = 1;

  std::size_t At(std::size_t i) const {
    return i / (rows * columns) * image_pitch + i / columns % rows * row_pitch +
           i % columns * column_pitch;
  }
};

struct GemmLoop {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
  const GemmA* a = nullptr;
  GemmB b;
  float beta = 0;
  float* c = nullptr;
  std::size_t c_stride = 0;
  const GemmRowGrid* c_grid = nullptr;  // None: rows lie one below the other.
  const float* row_bias = nullptr;
  const float* column_bias = nullptr;
  bool relu = false;
};

// What RunGemmLoop needs in `buffers`; of the loop it looks at sizes and `a` only, and at whether
// B is packed.
std::size_t GemmLoopFloats(const GemmLoop& loop, const GemmKernel& kernel, std::size_t workers);

// `buffers` starts on a cache line.
void RunGemmLoop(const GemmLoop& loop, const GemmKernel& kernel, float* buffers,
                 Parallel& parallel);

}  // namespace shoal::kernels
