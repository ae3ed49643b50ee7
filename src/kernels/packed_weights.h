// PackedWeights: a quantised matrix in the order in which QuantMatMul reads it: eight rows side by
// side, so that a lane of a vector is a row, and four consecutive k of a row in 32 bits, as dot
// product instructions want them. The integers and the scales are those of the file; nothing is
// rounded, and formats that differ only in how they store the same thing become one.
//
//   rows / 8 groups, of k / block chunks each, of
//     F16 d[8] (F16 offset[8], zero[8] or minimum[8])
//     (sub-scales, sub-minima: int8 pairs [pair][8][2])
//     weights: for each 4 k a vector of [8][4]; nibbles: two such vectors, the first one's low
//
// A matrix whose rows are no multiple of eight has rows of zeros at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/parallel.h"
#include "base/status.h"
#include "tensor/aligned_buffer.h"
#include "tensor/dtype.h"

namespace shoal::kernels {

// Raised with every change of a form or of a layout: packed weights are kept in files.
inline constexpr std::uint32_t kPackedRevision = 1;

inline constexpr std::size_t kPackedRows = 8;

enum class PackedForm : std::uint8_t {
  kU4x32,         // d (q - 8): Q4_0.
  kU4x32Offset,   // d q + m: Q4_1.
  kU4x32Zero,     // d (q - z), z a small integer: GPTQ, AWQ.
  kI8x32,         // d q: Q8_0, Q5_0, IQ4_NL.
  kI8x32Offset,   // d q + m: Q5_1.
  kU4x256,        // d s q - e t, sub-blocks of 32: Q4_K.
  kU6x256,        // d s (q - 32), sub-blocks of 16: Q6_K.
  kI8x256,        // d s q, sub-blocks of 16: Q3_K, IQ4_XS, IQ2, IQ3.
  kI8x256Minima,  // d s q - e t, sub-blocks of 16: Q2_K, Q5_K.
};

inline constexpr std::size_t kPackedForms = 9;

struct PackedLayout {
  std::size_t block;        // k of a chunk.
  bool second;              // Whether a second F16 follows d.
  std::size_t scale_pairs;  // Of sub-scales.
  std::size_t minimum_pairs;
  std::size_t low_bytes;   // The weights, …
  std::size_t high_bytes;  // … and the upper two bits of kU6x256.

  constexpr std::size_t scales() const { return kPackedRows * (second ? 4 : 2); }
  constexpr std::size_t minima() const { return scales() + scale_pairs * 2 * kPackedRows; }
  constexpr std::size_t low() const { return minima() + minimum_pairs * 2 * kPackedRows; }
  constexpr std::size_t high() const { return low() + low_bytes; }
  constexpr std::size_t bytes() const { return high() + high_bytes; }
};

constexpr PackedLayout LayoutOf(PackedForm form) {
  switch (form) {
    case PackedForm::kU4x32:
      return {32, false, 0, 0, 128, 0};
    case PackedForm::kU4x32Offset:
    case PackedForm::kU4x32Zero:
      return {32, true, 0, 0, 128, 0};
    case PackedForm::kI8x32:
      return {32, false, 0, 0, 256, 0};
    case PackedForm::kI8x32Offset:
      return {32, true, 0, 0, 256, 0};
    case PackedForm::kU4x256:
      return {256, true, 4, 4, 1024, 0};
    case PackedForm::kU6x256:
      return {256, false, 8, 0, 1024, 512};
    case PackedForm::kI8x256:
      return {256, false, 8, 0, 2048, 0};
    case PackedForm::kI8x256Minima:
      return {256, true, 8, 8, 2048, 0};
  }
  return {};
}

// What a matrix takes in this form.
constexpr std::size_t PackedBytes(PackedForm form, std::size_t rows, std::size_t k) {
  const PackedLayout layout = LayoutOf(form);
  return (rows + kPackedRows - 1) / kPackedRows * (k / layout.block) * layout.bytes();
}

struct PackedType;  // row_packers.h

class PackedWeights {
 public:
  PackedWeights() = default;

  // Whether Make can take such weights.
  static bool Supports(DType dtype);
  // What it becomes then. REQUIRES: Supports(dtype).
  static PackedForm FormOf(DType dtype);
  // `blocks` as in the file, row by row. REQUIRES: Supports(dtype); k is a multiple of the block
  // of `dtype`, and blocks.size() what rows * k take. kResourceExhausted: no memory.
  static Result<PackedWeights> Make(DType dtype, std::span<const std::byte> blocks,
                                    std::size_t rows, std::size_t k, Parallel& parallel);

  // `blocks` as of Q4_1, but with z where that has an offset: a weight is d (q - z). REQUIRES:
  // every z is an integer; else as Make.
  static Result<PackedWeights> MakeWithZeros(std::span<const std::byte> blocks, std::size_t rows,
                                             std::size_t k, Parallel& parallel);

  // Weights that were packed before and stay the caller's: `data` must outlive them. REQUIRES: k is
  // a multiple of the form's block, and data.size() == PackedBytes(form, rows, k).
  static PackedWeights Refer(PackedForm form, float unit, std::size_t rows, std::size_t k,
                             std::span<const std::byte> data);

  PackedForm form() const { return form_; }
  // What results are multiplied with: 1, or a smaller power of two.
  float unit() const { return unit_; }
  std::size_t rows() const { return rows_; }
  std::size_t k() const { return k_; }
  std::size_t groups() const { return (rows_ + kPackedRows - 1) / kPackedRows; }
  std::size_t group_bytes() const { return k_ / LayoutOf(form_).block * LayoutOf(form_).bytes(); }
  const std::uint8_t* group(std::size_t g) const {
    return reinterpret_cast<const std::uint8_t*>(data_.data()) + g * group_bytes();
  }
  // The same bytes on every CPU.
  std::span<const std::byte> data() const { return data_; }

 private:
  static Result<PackedWeights> Pack(const PackedType& type, DType blocks_of,
                                    std::span<const std::byte> blocks, std::size_t rows,
                                    std::size_t k, Parallel& parallel);

  AlignedBuffer buffer_;  // Empty if they are the caller's.
  std::span<const std::byte> data_;
  PackedForm form_ = PackedForm::kU4x32;
  float unit_ = 1;
  std::size_t rows_ = 0;
  std::size_t k_ = 0;
};

}  // namespace shoal::kernels
