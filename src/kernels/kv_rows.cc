#include "kernels/kv_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/parallel.h"
#include "kernels/convert.h"
#include "kernels/dequantize.h"
#include "kernels/float16.h"
#include "kernels/nearest.h"

namespace shoal::kernels {
namespace {

constexpr std::size_t kBlock = 32;
constexpr std::size_t kBlockBytes = 34;

void StoreBlock(const float* x, std::byte* to) {
  std::uint32_t max_bits = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    max_bits = std::max(max_bits, std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffU);
  }
  const auto max = std::bit_cast<float>(max_bits);
  // Of no use where nothing, a NaN or something infinite is; d says which.
  const float inverse = max > 0 && max < INFINITY ? 127.0F / max : 0.0F;
  const bool usable = inverse > 0 && inverse < INFINITY;
  const std::uint16_t d = F16FromFloat(max / 127.0F);
  std::memcpy(to, &d, sizeof d);
  std::int8_t q[kBlock] = {};
  for (std::size_t i = 0; usable && i < kBlock; ++i) {
    q[i] = static_cast<std::int8_t>(std::bit_cast<std::uint32_t>(x[i] * inverse + kRounder) -
                                    kRounderBits);
  }
  std::memcpy(to + 2, q, sizeof q);
}

}  // namespace

void StoreKvRow(KvType type, std::span<const float> row, std::byte* to, Target target) {
  Serial serial;
  if (type == KvType::kF16) {
    F16FromF32(row, {reinterpret_cast<std::uint16_t*>(to), row.size()}, serial, target);
    return;
  }
  SHOAL_CHECK(CanKeep(type, row.size()));
  for (std::size_t at = 0; at < row.size(); at += kBlock, to += kBlockBytes) {
    StoreBlock(row.data() + at, to);
  }
}

void LoadKvRows(KvType type, const std::byte* from, std::size_t rows, std::size_t dim, float* to,
                Target target) {
  const std::span<float> floats(to, rows * dim);
  if (type == KvType::kF16) {
    Serial serial;
    F32FromF16({reinterpret_cast<const std::uint16_t*>(from), rows * dim}, floats, serial, target);
    return;
  }
  Dequantize(DType::kQ8_0, {from, rows * KvRowBytes(type, dim)}, floats);
}

}  // namespace shoal::kernels
