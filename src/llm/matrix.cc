#include "llm/matrix.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "kernels/dequantize.h"
#include "kernels/matvec.h"
#include "kernels/quant_matmul.h"

namespace shoal::llm {

void Activations::Assign(std::span<const float> x, std::size_t k) {
  SHOAL_CHECK(k > 0 && x.size() % k == 0);
  x_ = x;
  k_ = k;
  done_[0] = done_[1] = false;
}

const kernels::QuantizedRows& Activations::Quantized(std::size_t block, Parallel& parallel) {
  const std::size_t i = block == 32 ? 0 : 1;
  if (!done_[i]) quantized_[i].Assign(x_, k_, block, parallel);
  done_[i] = true;
  return quantized_[i];
}

Result<Matrix> Matrix::Make(std::string_view name, DType dtype, std::span<const std::byte> bytes,
                            std::size_t rows, std::size_t k, Parallel& parallel) {
  Matrix matrix;
  matrix.rows_ = rows;
  matrix.k_ = k;
  matrix.dtype_ = dtype;
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
      matrix.floats_ = bytes;
      return matrix;
    case DType::kBF16:
      matrix.widened_.resize(rows * k);
      kernels::Dequantize(dtype, bytes, matrix.widened_);
      matrix.dtype_ = DType::kF32;
      matrix.floats_ = std::as_bytes(std::span<const float>(matrix.widened_));
      return matrix;
    default:
      break;
  }
  if (!kernels::PackedWeights::Supports(dtype)) {
    return Status(Code::kInvalidArgument, std::string(name) +
                                              ": there are no products with weights of type " +
                                              std::string(Info(dtype).name));
  }
  SHOAL_ASSIGN_OR_RETURN(matrix.packed_,
                         kernels::PackedWeights::Make(dtype, bytes, rows, k, parallel));
  return matrix;
}

void Matrix::Apply(Activations& x, std::span<float> y, Parallel& parallel) const {
  SHOAL_CHECK_EQ(x.k(), k_);
  SHOAL_CHECK_EQ(y.size(), rows_ * x.rows());
  if (IsQuantized(dtype_)) {
    const std::size_t block = kernels::LayoutOf(packed_.form()).block;
    kernels::QuantMatMul(packed_, x.Quantized(block, parallel), y, parallel);
    return;
  }
  for (std::size_t c = 0; c < x.rows(); ++c) {
    const std::span<float> column = y.subspan(c * rows_, rows_);
    if (dtype_ == DType::kF32) {
      kernels::MatVec({reinterpret_cast<const float*>(floats_.data()), rows_ * k_}, x.row(c),
                      column, parallel);
    } else {
      kernels::MatVecF16({reinterpret_cast<const std::uint16_t*>(floats_.data()), rows_ * k_},
                         x.row(c), column, parallel);
    }
  }
}

}  // namespace shoal::llm
