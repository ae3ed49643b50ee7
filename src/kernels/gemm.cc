#include "kernels/gemm.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/gemm_kernel.h"
#include "kernels/gemm_loop.h"

namespace shoal::kernels {
namespace {

class MatrixA final : public GemmA {
 public:
  explicit MatrixA(const MatrixRef& a) : a_(a) {}

  std::size_t copy_rows(const GemmKernel& kernel) const override {
    return a_.transposed ? kernel.rows_max : 0;
  }
  Block Get(const GemmKernel& kernel, Range rows, Range k, float* copy) const override {
    const float* a = a_.At(rows.begin, k.begin);
    if (!a_.transposed) return {a, a_.stride};
    kernel.transpose(a, a_.stride, k.size, rows.size, copy, kGemmCopyStride);
    return {copy, kGemmCopyStride};
  }

 private:
  const MatrixRef& a_;
};

}  // namespace

PackedB::PackedB(MatrixRef b, std::size_t k, std::size_t n, Parallel& parallel, Target target)
    : k_(k), n_(n), target_(target) {
  const GemmKernel kernel = ChooseGemmKernel(target);
  const std::size_t columns =
      (n + kernel.panel_columns - 1) / kernel.panel_columns * kernel.panel_columns;
  float* out = buffer_.Reserve(k * columns);
  parallel.Run((k + kGemmDepth - 1) / kGemmDepth, [&](std::size_t block, std::size_t) {
    const std::size_t begin = block * kGemmDepth;
    PackPanels(kernel, {.pieces = {&b, 1}, .piece_k = k}, {begin, std::min(kGemmDepth, k - begin)},
               {0, n}, out + begin * columns);
  });
}

void Gemm(const GemmArgs& args, GemmWorkspace& workspace, Parallel& parallel, Target target) {
  SHOAL_CHECK_GE(args.c_stride, args.n);
  if (args.packed_b != nullptr) {
    SHOAL_CHECK_EQ(args.packed_b->k(), args.k);
    SHOAL_CHECK_EQ(args.packed_b->n(), args.n);
    SHOAL_CHECK_EQ(args.packed_b->target(), target);
  }
  const GemmKernel kernel = ChooseGemmKernel(target);
  const MatrixA a(args.a);
  const GemmLoop loop{.m = args.m,
                      .n = args.n,
                      .k = args.k,
                      .a = &a,
                      .b = {.pieces = {&args.b, 1},
                            .piece_k = args.k,
                            .packed = args.packed_b != nullptr ? args.packed_b->data() : nullptr},
                      .beta = args.beta,
                      .c = args.c,
                      .c_stride = args.c_stride,
                      .row_bias = args.row_bias,
                      .column_bias = args.column_bias,
                      .relu = args.relu};
  const std::size_t floats = GemmLoopFloats(loop, kernel, parallel.workers());
  RunGemmLoop(loop, kernel, workspace.Reserve(floats), parallel);
}

}  // namespace shoal::kernels
