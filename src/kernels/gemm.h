// F32 matrix multiplication, C[m, n] = epilogue(op(A) · op(B) + beta · C): the heart of
// convolutions and fully connected layers.
//
// The result has the same bits on every target and for every number of workers,
// because it is defined element by element:
//
//   k is cut into blocks of kGemmDepth (the last may be shorter). The sum of a block
//   is one chain of fused multiply-adds in k order that starts at 0:
//       s = fma(a[i, k], b[k, j], s)
//   c = beta · c, a rounded product; then the block sums are added in block order.
//   With beta = 0, C is not read (it may hold NaN), and c is the first block's sum.
//   A k of 0 is one empty block, whose sum is 0.
//   Last, c += row_bias[i], c += column_bias[j], and with ReLU c = c < 0 ? 0 : c, so
//   that a NaN stays one: training must see it.
//
// Which bits a NaN has is the only thing left to the CPU.
#pragma once

#include <cstddef>

#include "base/parallel.h"
#include "kernels/float_scratch.h"
#include "kernels/target.h"

namespace shoal::kernels {

// Part of the arithmetic: changing it changes the bits of every network. 3 × 3
// convolutions of 128, 256 and 512 channels have a k of 3, 6 and 12 blocks. Measured with
// AVX-512: 256 is 2 % slower; 512 is 2 % faster in large squares, but a panel and a tile's
// rows (27 KiB with NEON) would no longer fit the 32 KiB L1 of a phone.
inline constexpr std::size_t kGemmDepth = 384;

// A matrix in row-major memory and how it is read: element (i, j) of op(M) is
// data[i * stride + j], or data[j * stride + i] if it is transposed. Rows may overlap
// (stride less than a row): a convolution's rows do.
struct MatrixRef {
  const float* data = nullptr;
  std::size_t stride = 0;
  bool transposed = false;

  // Element (i, j) of op(M).
  const float* At(std::size_t i, std::size_t j) const {
    return transposed ? data + j * stride + i : data + i * stride + j;
  }
};

// op(B) in the order in which the kernels of one target read it: for weights that are
// used more often than they change. Takes k · n floats, n rounded up to a multiple of
// the target's panel (at most 32). Immutable; may be read by several threads.
class PackedB {
 public:
  // Packs op(b)[k, n]. REQUIRES: this CPU has `target`.
  PackedB(MatrixRef b, std::size_t k, std::size_t n, Parallel& parallel,
          Target target = BestTarget());

  std::size_t k() const { return k_; }
  std::size_t n() const { return n_; }
  Target target() const { return target_; }
  const float* data() const { return buffer_.data(); }

 private:
  std::size_t k_;
  std::size_t n_;
  Target target_;
  FloatScratch buffer_;
};

// The memory that Gemm needs beside its operands, at most 1.1 MiB per worker (AVX-512;
// 0.7 with AVX2, 0.3 with NEON). It grows to the largest call and is then reused without
// allocation. One call at a time.
class GemmWorkspace {
 public:
  // Internal to kernels/: `count` floats, valid until the next call.
  float* Reserve(std::size_t count) { return buffer_.Reserve(count); }

 private:
  FloatScratch buffer_;
};

struct GemmArgs {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
  MatrixRef a;                        // op(A) is [m, k].
  MatrixRef b;                        // op(B) is [k, n]; ignored if packed_b is given.
  const PackedB* packed_b = nullptr;  // Must be of the call's k, n and target.
  float beta = 0;
  float* c = nullptr;  // [m, n]; overlaps nothing that is read.
  std::size_t c_stride = 0;
  const float* row_bias = nullptr;     // [m], or none.
  const float* column_bias = nullptr;  // [n], or none.
  bool relu = false;
};

// REQUIRES: pointers are valid for the sizes given, c_stride >= n, this CPU has `target`.
void Gemm(const GemmArgs& args, GemmWorkspace& workspace, Parallel& parallel,
          Target target = BestTarget());

}  // namespace shoal::kernels
