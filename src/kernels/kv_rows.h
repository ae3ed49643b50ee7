// Keys and values as a cache keeps them: a row is what one head has at one position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/target.h"

namespace shoal::kernels {

enum class KvType : std::uint8_t {
  kF16,   // 2 bytes a number.
  kQ8_0,  // Blocks of 32 as DType::kQ8_0: 34 bytes. d = m / 127 as F16, where m is the largest |x|;
          // q = x * (127 / m) to nearest, ties to even. m beyond F16: d is infinite, as F16 would
          // be.
};

// Whether rows of `dim` numbers can be kept so.
constexpr bool CanKeep(KvType type, std::size_t dim) {
  return type == KvType::kF16 || dim % 32 == 0;
}

// REQUIRES: CanKeep(type, dim).
constexpr std::size_t KvRowBytes(KvType type, std::size_t dim) {
  return type == KvType::kF16 ? 2 * dim : dim / 32 * 34;
}

// `to` has KvRowBytes(type, row.size()) bytes.
void StoreKvRow(KvType type, std::span<const float> row, std::byte* to,
                Target target = BestTarget());

// `rows` of `dim` numbers, one after the other, as floats.
void LoadKvRows(KvType type, const std::byte* from, std::size_t rows, std::size_t dim, float* to,
                Target target = BestTarget());

}  // namespace shoal::kernels
