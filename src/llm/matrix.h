// Matrix: the weights of a linear layer, whatever their type, and Activations, what it is applied
// to. A product has the same bits for any number of rows of activations.
#pragma once

#include <cstddef>
#include <cstdint>
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

  std::size_t rows() const { return x_.size() / k_; }
  std::size_t k() const { return k_; }
  std::span<const float> row(std::size_t r) const { return x_.subspan(r * k_, k_); }
  // In blocks of 32 or of 256.
  const kernels::QuantizedRows& Quantized(std::size_t block, Parallel& parallel);

 private:
  std::span<const float> x_;
  std::size_t k_ = 1;
  kernels::QuantizedRows quantized_[2];
  bool done_[2] = {false, false};
};

class Matrix {
 public:
  Matrix() = default;

  // Weights in rows of k, as in a file; `bytes` of types that are used as they are (F32, F16,
  // BF16) must outlive the matrix. `name` is for messages. kInvalidArgument: a type that we cannot
  // compute with. kResourceExhausted: no memory for packed weights.
  static Result<Matrix> Make(std::string_view name, DType dtype, std::span<const std::byte> bytes,
                             std::size_t rows, std::size_t k, Parallel& parallel);

  std::size_t rows() const { return rows_; }
  std::size_t k() const { return k_; }

  // y[c, r] = row r of the matrix times row c of x. REQUIRES: x.k() == k();
  // y.size() == rows() * x.rows().
  void Apply(Activations& x, std::span<float> y, Parallel& parallel) const;

 private:
  std::size_t rows_ = 0;
  std::size_t k_ = 0;
  DType dtype_ = DType::kF32;
  std::span<const std::byte> floats_;
  std::vector<float> widened_;  // BF16 as F32.
  kernels::PackedWeights packed_;
};

}  // namespace shoal::llm
