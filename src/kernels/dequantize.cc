#include "kernels/dequantize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "kernels/dequantize_internal.h"
#include "kernels/float16.h"
#include "kernels/quant_blocks.h"

namespace shoal::kernels {
namespace {

// Nibbles of 16 bytes: the lower ones are elements 0-15, the upper ones 16-31. `bits` has a fifth
// bit of each.
template <class Value>
void ForEachNibble(const std::byte* nibbles, std::uint32_t bits, float* out, Value value) {
  for (std::size_t j = 0; j < 16; ++j) {
    const std::uint32_t byte = LoadByte(nibbles + j);
    out[j] = value(static_cast<int>((byte & 15U) | (((bits >> j) & 1U) << 4U)));
    out[j + 16] = value(static_cast<int>((byte >> 4U) | (((bits >> (j + 16)) & 1U) << 4U)));
  }
}

void DequantizeQ40(const std::byte* block, float* out) {
  const float d = LoadF16(block);
  ForEachNibble(block + 2, 0, out, [d](int q) { return d * static_cast<float>(q - 8); });
}

void DequantizeQ41(const std::byte* block, float* out) {
  const float d = LoadF16(block);
  const float m = LoadF16(block + 2);
  ForEachNibble(block + 4, 0, out, [d, m](int q) { return d * static_cast<float>(q) + m; });
}

void DequantizeQ50(const std::byte* block, float* out) {
  const float d = LoadF16(block);
  ForEachNibble(block + 6, LoadU32(block + 2), out,
                [d](int q) { return d * static_cast<float>(q - 16); });
}

void DequantizeQ51(const std::byte* block, float* out) {
  const float d = LoadF16(block);
  const float m = LoadF16(block + 2);
  ForEachNibble(block + 8, LoadU32(block + 4), out,
                [d, m](int q) { return d * static_cast<float>(q) + m; });
}

void DequantizeQ80(const std::byte* block, float* out) {
  const float d = LoadF16(block);
  for (std::size_t j = 0; j < kSmallBlock; ++j) {
    out[j] = d * static_cast<float>(static_cast<std::int8_t>(LoadByte(block + 2 + j)));
  }
}

void DequantizeF32(const std::byte* block, float* out) { std::memcpy(out, block, sizeof(float)); }
void DequantizeF16(const std::byte* block, float* out) { *out = LoadF16(block); }
void DequantizeBF16(const std::byte* block, float* out) { *out = FloatFromBF16(LoadU16(block)); }

using BlockFunction = void (*)(const std::byte*, float*);

// Where a type keeps its F16 scales: at `first`, and `count` of them one after the other.
struct BlockKind {
  BlockFunction dequantize = nullptr;
  std::size_t first = 0;
  std::size_t count = 1;
};

BlockKind KindOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return {DequantizeF32, 0, 0};
    case DType::kF16:
      return {DequantizeF16, 0, 0};
    case DType::kBF16:
      return {DequantizeBF16, 0, 0};
    case DType::kQ4_0:
      return {DequantizeQ40};
    case DType::kQ4_1:
      return {DequantizeQ41, 0, 2};
    case DType::kQ5_0:
      return {DequantizeQ50};
    case DType::kQ5_1:
      return {DequantizeQ51, 0, 2};
    case DType::kQ8_0:
      return {DequantizeQ80};
    case DType::kQ2_K:
      return {internal::DequantizeQ2K, 80, 2};
    case DType::kQ3_K:
      return {internal::DequantizeQ3K, 108};
    case DType::kQ4_K:
      return {internal::DequantizeQ4K, 0, 2};
    case DType::kQ5_K:
      return {internal::DequantizeQ5K, 0, 2};
    case DType::kQ6_K:
      return {internal::DequantizeQ6K, 208};
    case DType::kIQ2_XXS:
      return {internal::DequantizeIQ2XXS};
    case DType::kIQ2_XS:
      return {internal::DequantizeIQ2XS};
    case DType::kIQ2_S:
      return {internal::DequantizeIQ2S};
    case DType::kIQ3_XXS:
      return {internal::DequantizeIQ3XXS};
    case DType::kIQ3_S:
      return {internal::DequantizeIQ3S};
    case DType::kIQ4_NL:
      return {internal::DequantizeIQ4NL};
    case DType::kIQ4_XS:
      return {internal::DequantizeIQ4XS};
    case DType::kI8:
    case DType::kI32:
      break;
  }
  return {};
}

bool ScalesAreFinite(const BlockKind& kind, const std::byte* block) {
  for (std::size_t i = 0; i < kind.count; ++i) {
    if (!std::isfinite(LoadF16(block + kind.first + 2 * i))) return false;
  }
  return true;
}

}  // namespace

void Dequantize(DType dtype, std::span<const std::byte> blocks, std::span<float> out) {
  const DTypeInfo& info = Info(dtype);
  const BlockKind kind = KindOf(dtype);
  SHOAL_CHECK(kind.dequantize != nullptr);
  SHOAL_CHECK_EQ(out.size() % info.block_elements, 0U);
  SHOAL_CHECK_EQ(out.size() / info.block_elements * info.block_bytes, blocks.size());
  for (std::size_t i = 0; i < out.size() / info.block_elements; ++i) {
    const std::byte* block = blocks.data() + i * info.block_bytes;
    float* elements = out.data() + i * info.block_elements;
    if (ScalesAreFinite(kind, block)) {
      kind.dequantize(block, elements);
    } else {
      std::fill_n(elements, info.block_elements, std::numeric_limits<float>::quiet_NaN());
    }
  }
}

}  // namespace shoal::kernels
