// QuantizedRows: activations as 8-bit integers with a scale per block, for products with
// PackedWeights. The same bits on every target:
//
//   m = the largest |x| of the block;  d = m / 127;  q = x * (127 / m) to nearest, ties to even
//
// All q are 0 if m is. A block that holds NaN or infinity has d = NaN and q = 0: what is made of it
// is NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "kernels/target.h"

namespace shoal::kernels {

class QuantizedRows {
 public:
  // Blocks of 32 for weights in blocks of 32, of 256 for those in blocks of 256.
  // REQUIRES: block is 32 or 256; k is a multiple of it; x.size() of k.
  void Assign(std::span<const float> x, std::size_t k, std::size_t block, Parallel& parallel,
              Target target = BestTarget());
  // As Assign of what RmsNorm of `x` gives, which `normed` is set to; a row is normalised and
  // quantised by one task, while its core has it in the cache. REQUIRES: those of RmsNorm and, with
  // rows of weight.size(), of Assign.
  void AssignNormed(std::span<const float> x, std::span<const float> weight, float epsilon,
                    std::span<float> normed, std::size_t block, Parallel& parallel,
                    Target target = BestTarget());

  std::size_t rows() const { return rows_; }
  std::size_t k() const { return k_; }
  std::size_t block() const { return block_; }
  const std::int8_t* q(std::size_t row) const { return q_.data() + row * k_; }
  const float* scales(std::size_t row) const { return scales_.data() + row * (k_ / block_); }
  // Sums of q over 16 elements (blocks of 256) or over the block (of 32).
  const std::int16_t* sums(std::size_t row) const { return sums_.data() + row * sums_a_row(); }
  std::size_t sums_a_row() const { return k_ / SumLength(block_); }
  static constexpr std::size_t SumLength(std::size_t block) { return block == 256 ? 16 : 32; }

 private:
  void Resize(std::size_t size, std::size_t k, std::size_t block);
  // Blocks [begin, end) of all of x.
  void QuantizeBlocks(std::span<const float> x, std::size_t begin, std::size_t end, Target target);

  std::size_t rows_ = 0;
  std::size_t k_ = 0;
  std::size_t block_ = 32;
  // Grow, and are never given back: a stage quantises all the time.
  std::vector<std::int8_t> q_;
  std::vector<float> scales_;
  std::vector<std::int16_t> sums_;
};

}  // namespace shoal::kernels
