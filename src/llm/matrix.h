// Matrix: the weights of a linear layer, whatever their type, and Activations, what it is applied
// to. A product has the same bits for any number of rows of activations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "kernels/packed_weights.h"
#include "kernels/quantized_rows.h"
#include "tensor/dtype.h"

namespace shoal::llm {

// Rows of floats that several matrices are applied to: they are quantised once for all of them.
class Activations {
 public:
  // `x` stays the caller's, and unchanged until the next Assign. REQUIRES: k > 0 divides x.size().
  void Assign(std::span<const float> x, std::size_t k);
  // Assigns `normed`, which is set to the RmsNorm of `x`, and quantises it on the way for matrices
  // of this block(). REQUIRES: those of RmsNorm; `normed` is as `x` of Assign.
  void AssignNormed(std::span<const float> x, std::span<const float> weight, float epsilon,
                    std::span<float> normed, std::size_t block, Parallel& parallel);

  std::size_t rows() const { return x_.size() / k_; }
  std::size_t k() const { return k_; }
  std::span<const float> row(std::size_t r) const { return x_.subspan(r * k_, k_); }
  // In blocks of 32 or of 256.
  const kernels::QuantizedRows& Quantized(std::size_t block, Parallel& parallel);
  // The same rows with number j of each being number order[j] of it. They are gathered once for all
  // matrices of one order, and good until the next Assign or the next order. REQUIRES: k() numbers,
  // each below k().
  Activations& Ordered(std::span<const std::uint32_t> order, Parallel& parallel);

 private:
  std::span<const float> x_;
  std::size_t k_ = 1;
  kernels::QuantizedRows quantized_[2];
  bool done_[2] = {false, false};
  std::vector<std::uint32_t> order_;  // Of ordered_; empty: there is none.
  std::vector<float> gathered_;
  std::unique_ptr<Activations> ordered_;
};

class Matrix {
 public:
  Matrix() = default;
  explicit Matrix(kernels::PackedWeights packed);

  // Weights in rows of k, as in a file; `bytes` of types that are used as they are (F32, F16,
  // BF16) must outlive the matrix, and need not be aligned. `name` is for messages.
  // kInvalidArgument: a type that we cannot compute with. kResourceExhausted: no memory for packed
  // weights.
  static Result<Matrix> Make(std::string_view name, DType dtype, std::span<const std::byte> bytes,
                             std::size_t rows, std::size_t k, Parallel& parallel);

  // Column j of the weights is for number order[j] of an input. REQUIRES: `order` is empty, which
  // means as they are, or a permutation of k() numbers.
  void SetInputOrder(std::vector<std::uint32_t> order);

  std::size_t rows() const { return rows_; }
  std::size_t k() const { return k_; }
  // In blocks of how many numbers activations are quantised for it; 0: it takes them as floats, or
  // in another order.
  std::size_t block() const;

  // As it is in memory: packed weights, or null and floats of float_type(), which is F32 or F16.
  const kernels::PackedWeights* packed() const { return packed_ ? &*packed_ : nullptr; }
  std::span<const std::byte> floats() const { return floats_; }
  DType float_type() const { return dtype_; }
  // Empty: as they are.
  std::span<const std::uint32_t> input_order() const { return input_order_; }

  // y[c, r] = row r of the matrix times row c of x. REQUIRES: x.k() == k();
  // y.size() == rows() * x.rows().
  void Apply(Activations& x, std::span<float> y, Parallel& parallel) const;

 private:
  void ApplyInOrder(Activations& x, std::span<float> y, Parallel& parallel) const;

  std::size_t rows_ = 0;
  std::size_t k_ = 0;
  // One of the two: floats of F32 or F16, …
  DType dtype_ = DType::kF32;
  std::span<const std::byte> floats_;
  std::vector<float> widened_;  // BF16 as F32, and what is not aligned.
  // … or weights in blocks.
  std::optional<kernels::PackedWeights> packed_;
  std::vector<std::uint32_t> input_order_;
};

}  // namespace shoal::llm
