// Dot products of 8-bit integers, exact in 32 bits: the order of additions cannot matter, so every
// target adds as it likes and the results are equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/parallel.h"
#include "kernels/target.h"

namespace shoal::kernels {

// 2^17 products of (-128) * (-128) = 2^14 would reach 2^31.
inline constexpr std::size_t kDotI8LengthMax = (std::size_t{1} << 17U) - 1;

// REQUIRES: x.size() == y.size() <= kDotI8LengthMax.
std::int32_t DotI8(std::span<const std::int8_t> x, std::span<const std::int8_t> y,
                   Target target = BestTarget());

// y[c, r] = the dot product of w[r, :] and x[c, :], both rows of length k: a matrix times several
// vectors. Rows of w are cut over `parallel`.
// REQUIRES: 0 < k <= kDotI8LengthMax; w.size() and x.size() are multiples of k, and
// y.size() == (x.size() / k) * (w.size() / k).
void MatMulI8(std::span<const std::int8_t> w, std::span<const std::int8_t> x, std::size_t k,
              std::span<std::int32_t> y, Parallel& parallel, Target target = BestTarget());

}  // namespace shoal::kernels
