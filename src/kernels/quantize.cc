#include "kernels/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "kernels/float16.h"
#include "kernels/quant_blocks.h"
#include "kernels/quantize_fit.h"
#include "kernels/quantize_internal.h"

namespace shoal::kernels {
namespace {

using Steps = std::array<std::uint8_t, kSmallBlock>;

// Element j in the lower nibble of byte j, element j+16 in the upper; a fifth bit is left out.
void StoreNibbles(const Steps& steps, std::byte* out) {
  for (std::size_t j = 0; j < 16; ++j) {
    out[j] = static_cast<std::byte>((steps[j] & 15U) | ((steps[j + 16] & 15U) << 4U));
  }
}

void StoreFifthBits(const Steps& steps, std::byte* out) {
  for (std::size_t j = 0; j < 4; ++j) {
    std::uint32_t bits = 0;
    for (std::size_t bit = 0; bit < 8; ++bit) bits |= ((steps[8 * j + bit] >> 4U) & 1U) << bit;
    out[j] = static_cast<std::byte>(bits);
  }
}

float InverseOf(float scale) { return scale == 0.0F ? 0.0F : 1.0F / scale; }

// The steps of a symmetric block, from 0; stores its scale.
Steps Symmetric(const float* x, int half, std::byte* scale_at) {
  const float scale = FitSymmetric({x, kSmallBlock}, half, SnapToF16);
  StoreU16(F16FromFloat(scale), scale_at);
  Steps steps{};
  for (std::size_t j = 0; j < kSmallBlock; ++j) {
    steps[j] =
        static_cast<std::uint8_t>(RoundWithin(x[j] * InverseOf(scale), -half, half - 1) + half);
  }
  return steps;
}

Steps WithOffset(const float* x, int most, std::byte* scale_at) {
  const Affine affine = FitAffine({x, kSmallBlock}, most, OffsetLimit::kNone, SnapToF16);
  StoreU16(F16FromFloat(affine.scale), scale_at);
  StoreU16(F16FromFloat(affine.offset), scale_at + 2);
  Steps steps{};
  for (std::size_t j = 0; j < kSmallBlock; ++j) {
    steps[j] = static_cast<std::uint8_t>(
        RoundWithin((x[j] - affine.offset) * InverseOf(affine.scale), 0, most));
  }
  return steps;
}

void QuantizeQ40(const float* x, std::byte* block) {
  StoreNibbles(Symmetric(x, 8, block), block + 2);
}
void QuantizeQ41(const float* x, std::byte* block) {
  StoreNibbles(WithOffset(x, 15, block), block + 4);
}

void QuantizeQ50(const float* x, std::byte* block) {
  const Steps steps = Symmetric(x, 16, block);
  StoreFifthBits(steps, block + 2);
  StoreNibbles(steps, block + 6);
}

void QuantizeQ51(const float* x, std::byte* block) {
  const Steps steps = WithOffset(x, 31, block);
  StoreFifthBits(steps, block + 4);
  StoreNibbles(steps, block + 8);
}

// With 255 steps there is nothing to gain from a search.
void QuantizeQ80(const float* x, std::byte* block) {
  float largest = 0.0F;
  for (std::size_t j = 0; j < kSmallBlock; ++j) largest = std::max(largest, std::abs(x[j]));
  const float scale = SnapToF16(largest / 127.0F);
  StoreU16(F16FromFloat(scale), block);
  for (std::size_t j = 0; j < kSmallBlock; ++j) {
    block[2 + j] = static_cast<std::byte>(RoundWithin(x[j] * InverseOf(scale), -127, 127));
  }
}

void QuantizeF32(const float* x, std::byte* block) { std::memcpy(block, x, sizeof(float)); }
void QuantizeF16(const float* x, std::byte* block) { StoreU16(F16FromFloat(SnapToF16(*x)), block); }
void QuantizeBF16(const float* x, std::byte* block) {
  constexpr float kLargest = 0x1.fep127F;
  StoreU16(BF16FromFloat(std::clamp(*x, -kLargest, kLargest)), block);
}

using BlockFunction = void (*)(const float*, std::byte*);

BlockFunction FunctionOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return QuantizeF32;
    case DType::kF16:
      return QuantizeF16;
    case DType::kBF16:
      return QuantizeBF16;
    case DType::kQ4_0:
      return QuantizeQ40;
    case DType::kQ4_1:
      return QuantizeQ41;
    case DType::kQ5_0:
      return QuantizeQ50;
    case DType::kQ5_1:
      return QuantizeQ51;
    case DType::kQ8_0:
      return QuantizeQ80;
    case DType::kQ4_K:
      return internal::QuantizeQ4K;
    case DType::kQ5_K:
      return internal::QuantizeQ5K;
    case DType::kQ6_K:
      return internal::QuantizeQ6K;
    default:
      return nullptr;
  }
}

}  // namespace

bool CanQuantize(DType dtype) { return FunctionOf(dtype) != nullptr; }

void Quantize(DType dtype, std::span<const float> x, std::span<std::byte> blocks) {
  const DTypeInfo& info = Info(dtype);
  const BlockFunction quantize = FunctionOf(dtype);
  SHOAL_CHECK(quantize != nullptr);
  SHOAL_CHECK_EQ(x.size() % info.block_elements, 0U);
  SHOAL_CHECK_EQ(x.size() / info.block_elements * info.block_bytes, blocks.size());
  for (std::size_t i = 0; i < x.size() / info.block_elements; ++i) {
    quantize(x.data() + i * info.block_elements, blocks.data() + i * info.block_bytes);
  }
}

}  // namespace shoal::kernels
