#include "llm/matrix.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "kernels/chunks.h"
#include "kernels/dequantize.h"
#include "kernels/matvec.h"
#include "kernels/quant_matmul.h"
#include "kernels/rmsnorm.h"

namespace shoal::llm {
namespace {

// GGUF files align tensors, safetensors files only mostly.
bool IsAligned(std::span<const std::byte> bytes, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment == 0;
}

// Of what is quantised in blocks of 32 or 256.
std::size_t IndexOf(std::size_t block) { return block == 32 ? 0 : 1; }

}  // namespace

void Activations::Assign(std::span<const float> x, std::size_t k) {
  SHOAL_CHECK(k > 0 && x.size() % k == 0);
  x_ = x;
  k_ = k;
  done_[0] = done_[1] = false;
  order_.clear();
}

void Activations::AssignNormed(std::span<const float> x, std::span<const float> weight,
                               float epsilon, std::span<float> normed, std::size_t block,
                               Parallel& parallel) {
  Assign(normed, weight.size());
  if (block == 0) {
    kernels::RmsNorm(x, weight, epsilon, normed, parallel);
    return;
  }
  const std::size_t i = IndexOf(block);
  quantized_[i].AssignNormed(x, weight, epsilon, normed, block, parallel);
  done_[i] = true;
}

const kernels::QuantizedRows& Activations::Quantized(std::size_t block, Parallel& parallel) {
  const std::size_t i = IndexOf(block);
  if (!done_[i]) quantized_[i].Assign(x_, k_, block, parallel);
  done_[i] = true;
  return quantized_[i];
}

Activations& Activations::Ordered(std::span<const std::uint32_t> order, Parallel& parallel) {
  SHOAL_CHECK_EQ(order.size(), k_);
  if (std::equal(order.begin(), order.end(), order_.begin(), order_.end())) return *ordered_;
  order_.assign(order.begin(), order.end());
  gathered_.resize(x_.size());
  parallel.Run(rows(), [&](std::size_t r, std::size_t) {
    const std::span<const float> from = row(r);
    float* to = gathered_.data() + r * k_;
    for (std::size_t j = 0; j < k_; ++j) to[j] = from[order[j]];
  });
  if (ordered_ == nullptr) ordered_ = std::make_unique<Activations>();
  ordered_->Assign(gathered_, k_);
  return *ordered_;
}

Matrix::Matrix(kernels::PackedWeights packed)
    : rows_(packed.rows()), k_(packed.k()), packed_(std::move(packed)) {}

Result<Matrix> Matrix::Make(std::string_view name, DType dtype, std::span<const std::byte> bytes,
                            std::size_t rows, std::size_t k, Parallel& parallel) {
  Matrix matrix;
  matrix.rows_ = rows;
  matrix.k_ = k;
  matrix.dtype_ = dtype;
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
      if (IsAligned(bytes, Info(dtype).block_bytes)) {
        matrix.floats_ = bytes;
        return matrix;
      }
      [[fallthrough]];
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
  SHOAL_ASSIGN_OR_RETURN(kernels::PackedWeights packed,
                         kernels::PackedWeights::Make(dtype, bytes, rows, k, parallel));
  return Matrix(std::move(packed));
}

void Matrix::SetInputOrder(std::vector<std::uint32_t> order) {
  SHOAL_CHECK(order.empty() || order.size() == k_);
  input_order_ = std::move(order);
}

std::size_t Matrix::block() const {
  return packed_ && input_order_.empty() ? kernels::LayoutOf(packed_->form()).block : 0;
}

void Matrix::Apply(Activations& x, std::span<float> y, Parallel& parallel) const {
  SHOAL_CHECK_EQ(x.k(), k_);
  SHOAL_CHECK_EQ(y.size(), rows_ * x.rows());
  ApplyInOrder(input_order_.empty() ? x : x.Ordered(input_order_, parallel), y, parallel);
}

void Matrix::ApplyInOrder(Activations& x, std::span<float> y, Parallel& parallel) const {
  if (packed_) {
    const std::size_t block = kernels::LayoutOf(packed_->form()).block;
    kernels::QuantMatMul(*packed_, x.Quantized(block, parallel), y, parallel);
    return;
  }
  // A few rows of the matrix, which stay in the cache, times all columns: a prompt reads the matrix
  // once, not once a token.
  const std::size_t grain = (kernels::RowsPerTask(k_) + 7) / 8 * 8;
  kernels::ForChunks(rows_, grain, parallel, [&](std::size_t begin, std::size_t end) {
    Serial serial;
    const std::size_t first = begin * k_;
    const std::size_t size = (end - begin) * k_;
    for (std::size_t c = 0; c < x.rows(); ++c) {
      const std::span<float> part = y.subspan(c * rows_ + begin, end - begin);
      if (dtype_ == DType::kF32) {
        const auto* w = reinterpret_cast<const float*>(floats_.data()) + first;
        kernels::MatVec({w, size}, x.row(c), part, serial);
      } else {
        const auto* w = reinterpret_cast<const std::uint16_t*>(floats_.data()) + first;
        kernels::MatVecF16({w, size}, x.row(c), part, serial);
      }
    }
  });
}

}  // namespace shoal::llm
