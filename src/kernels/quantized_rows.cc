#include "kernels/quantized_rows.h"

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quantized_rows.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/chunks.h"
#include "kernels/nearest.h"
#include "kernels/rmsnorm.h"

#ifndef SHOAL_KERNELS_QUANTIZED_ROWS_ONCE
#define SHOAL_KERNELS_QUANTIZED_ROWS_ONCE
namespace shoal::kernels {

struct QuantizeBlockArgs {
  const float* x;
  std::size_t block;
  std::size_t sum_length;
  std::int8_t* q;
  float* scale;
  std::int16_t* sums;
};

inline constexpr std::uint32_t kInfinityBits = 0x7f800000;

// What the block's integers are made with: 0 if there are none.
inline float SetScale(std::uint32_t max_bits, float* scale) {
  const bool finite = max_bits < kInfinityBits;
  const auto max = std::bit_cast<float>(max_bits);
  *scale = finite ? max / 127.0F : std::numeric_limits<float>::quiet_NaN();
  // A block of the smallest subnormals: 127 / m would be infinite.
  const float inverse = finite && max_bits != 0 ? 127.0F / max : 0.0F;
  return std::bit_cast<std::uint32_t>(inverse) < kInfinityBits ? inverse : 0.0F;
}

}  // namespace shoal::kernels
#endif

#if SHOAL_SIMD
HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

}  // namespace

void QuantizeBlock(const QuantizeBlockArgs& a) {
  const hn::CappedTag<float, 16> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::int16_t, decltype(d)> d16;
  const hn::Rebind<std::int8_t, decltype(d)> d8;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  auto max = hn::Zero(du);
  for (std::size_t i = 0; i < a.block; i += kLanes) {
    const auto bits = hn::BitCast(du, hn::LoadU(d, a.x + i));
    max = hn::Max(max, hn::And(bits, hn::Set(du, 0x7fffffffU)));
  }
  const float inverse = SetScale(hn::GetLane(hn::MaxOfLanes(du, max)), a.scale);
  if (inverse == 0) {
    std::fill_n(a.q, a.block, std::int8_t{0});
    std::fill_n(a.sums, a.block / a.sum_length, std::int16_t{0});
    return;
  }
  for (std::size_t i = 0; i < a.block;) {
    auto sum = hn::Zero(di);
    const std::size_t end = i + a.sum_length;
    for (; i < end; i += kLanes) {
      const auto rounded = hn::LoadU(d, a.x + i) * hn::Set(d, inverse) + hn::Set(d, kRounder);
      const auto integers = hn::BitCast(di, hn::BitCast(du, rounded) - hn::Set(du, kRounderBits));
      sum = sum + integers;
      hn::StoreU(hn::DemoteTo(d8, hn::DemoteTo(d16, integers)), d8, a.q + i);
    }
    a.sums[end / a.sum_length - 1] =
        static_cast<std::int16_t>(hn::GetLane(hn::SumOfLanes(di, sum)));
  }
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // SHOAL_SIMD

#if HWY_ONCE
namespace shoal::kernels {
namespace {

void RefQuantizeBlock(const QuantizeBlockArgs& a) {
  std::uint32_t max = 0;
  for (std::size_t i = 0; i < a.block; ++i) {
    max = std::max(max, std::bit_cast<std::uint32_t>(a.x[i]) & 0x7fffffffU);
  }
  const float inverse = SetScale(max, a.scale);
  for (std::size_t i = 0; i < a.block; i += a.sum_length) {
    std::int16_t sum = 0;
    for (std::size_t j = i; j < i + a.sum_length; ++j) {
      const float x = inverse == 0 ? 0.0F : a.x[j];
      const auto bits = std::bit_cast<std::uint32_t>(x * inverse + kRounder);
      a.q[j] = static_cast<std::int8_t>(bits - kRounderBits);
      sum = static_cast<std::int16_t>(sum + a.q[j]);
    }
    a.sums[i / a.sum_length] = sum;
  }
}

using BlockKernel = void(const QuantizeBlockArgs&);
constexpr Implementation<BlockKernel> kTable[] = {
    SHOAL_SIMD_ROWS(BlockKernel, QuantizeBlock){Target::kRef, &RefQuantizeBlock}};

}  // namespace

void QuantizedRows::Resize(std::size_t size, std::size_t k, std::size_t block) {
  SHOAL_CHECK(block == 32 || block == 256);
  SHOAL_CHECK(k > 0 && k % block == 0 && size % k == 0);
  rows_ = size / k;
  k_ = k;
  block_ = block;
  q_.resize(std::max(q_.size(), size));
  scales_.resize(std::max(scales_.size(), size / block));
  sums_.resize(std::max(sums_.size(), size / SumLength(block)));
}

void QuantizedRows::QuantizeBlocks(std::span<const float> x, std::size_t begin, std::size_t end,
                                   Target target) {
  BlockKernel* const kernel = Choose<BlockKernel>(kTable, target);
  const std::size_t length = SumLength(block_);
  for (std::size_t b = begin; b < end; ++b) {
    kernel({.x = x.data() + b * block_,
            .block = block_,
            .sum_length = length,
            .q = q_.data() + b * block_,
            .scale = scales_.data() + b,
            .sums = sums_.data() + b * (block_ / length)});
  }
}

void QuantizedRows::Assign(std::span<const float> x, std::size_t k, std::size_t block,
                           Parallel& parallel, Target target) {
  Resize(x.size(), k, block);
  ForChunks(x.size() / block, RowsPerTask(block), parallel,
            [&](std::size_t begin, std::size_t end) { QuantizeBlocks(x, begin, end, target); });
}

void QuantizedRows::AssignNormed(std::span<const float> x, std::span<const float> weight,
                                 float epsilon, std::span<float> normed, std::size_t block,
                                 Parallel& parallel, Target target) {
  SHOAL_CHECK_EQ(normed.size(), x.size());
  const std::size_t k = weight.size();
  Resize(x.size(), k, block);
  ForChunks(rows_, RowsPerTask(k), parallel, [&](std::size_t begin, std::size_t end) {
    Serial serial;
    for (std::size_t row = begin; row < end; ++row) {
      RmsNorm(x.subspan(row * k, k), weight, epsilon, normed.subspan(row * k, k), serial, target);
      QuantizeBlocks(normed, row * (k / block), (row + 1) * (k / block), target);
    }
  });
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
