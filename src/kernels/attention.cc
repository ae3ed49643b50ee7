#include "kernels/attention.h"

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/parallel.h"
#include "kernels/float16.h"
#include "kernels/math.h"
#include "kernels/matvec.h"
#include "kernels/reduce.h"

#ifndef SHOAL_KERNELS_ATTENTION_ONCE
#define SHOAL_KERNELS_ATTENTION_ONCE
namespace shoal::kernels {

struct WeighedSumArgs {
  const float* p;
  const std::uint16_t* v;  // [count, dim]
  std::size_t count;
  std::size_t dim;
  float* out;
};

inline void WeighedSumRest(const WeighedSumArgs& a, std::size_t begin) {
  for (std::size_t d = begin; d < a.dim; ++d) {
    float sum = 0;
    for (std::size_t j = 0; j < a.count; ++j) {
      sum = std::fma(a.p[j], FloatFromF16(a.v[j * a.dim + d]), sum);
    }
    a.out[d] = sum;
  }
}

}  // namespace shoal::kernels
#endif

#if SHOAL_SIMD
HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Lanes are elements of the value; four vectors under way hide the latency of adding to one.
constexpr std::size_t kVectors = 4;

template <std::size_t kCount>
void WeighedSumOf(const WeighedSumArgs& a, std::size_t begin) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> d16;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  hn::Vec<decltype(d)> sums[kCount];
  HWY_UNROLL(4) for (std::size_t i = 0; i < kCount; ++i) sums[i] = hn::Zero(d);
  for (std::size_t j = 0; j < a.count; ++j) {
    const auto p = hn::Set(d, a.p[j]);
    const auto* v = reinterpret_cast<const hwy::float16_t*>(a.v + j * a.dim + begin);
    HWY_UNROLL(4) for (std::size_t i = 0; i < kCount; ++i) {
      sums[i] = hn::MulAdd(p, hn::PromoteTo(d, hn::LoadU(d16, v + i * kLanes)), sums[i]);
    }
  }
  HWY_UNROLL(4) for (std::size_t i = 0; i < kCount; ++i) {
    hn::StoreU(sums[i], d, a.out + begin + i * kLanes);
  }
}

}  // namespace

void WeighedSum(const WeighedSumArgs& a) {
  constexpr std::size_t kLanes = hn::MaxLanes(hn::ScalableTag<float>());
  std::size_t begin = 0;
  for (; begin + kVectors * kLanes <= a.dim; begin += kVectors * kLanes) {
    WeighedSumOf<kVectors>(a, begin);
  }
  for (; begin + kLanes <= a.dim; begin += kLanes) WeighedSumOf<1>(a, begin);
  WeighedSumRest(a, begin);
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // SHOAL_SIMD

#if HWY_ONCE
namespace shoal::kernels {
namespace {

void RefWeighedSum(const WeighedSumArgs& a) { WeighedSumRest(a, 0); }

using WeighedSumKernel = void(const WeighedSumArgs&);
constexpr Implementation<WeighedSumKernel> kTable[] = {
    SHOAL_SIMD_ROWS(WeighedSumKernel, WeighedSum){Target::kRef, &RefWeighedSum}};

struct Part {
  float max;
  float sum;
  float out[kHeadDimMax];
};

void AttendBlock(std::span<const float> q, const KvBlock& block, float scale, Target target,
                 Part& part) {
  SHOAL_CHECK(block.count > 0 && block.count <= kAttentionBlock);
  Serial serial;
  float scores[kAttentionBlock];
  const std::span<float> s(scores, block.count);
  MatVecF16({block.keys, block.count * q.size()}, q, s, serial, target);
  for (float& score : s) score *= scale;
  part.max = Max(s, target);
  for (float& score : s) score -= part.max;
  Exp(s, s, serial, target);
  part.sum = Sum(s, target);
  Choose<WeighedSumKernel>(kTable, target)(
      {.p = scores, .v = block.values, .count = block.count, .dim = q.size(), .out = part.out});
}

// Folds a later part into `all`.
void Fold(const Part& part, std::size_t dim, Target target, Part& all) {
  Serial serial;
  const float max = all.max < part.max ? part.max : all.max;
  float factors[2] = {all.max - max, part.max - max};
  Exp(factors, factors, serial, target);
  all.max = max;
  all.sum = std::fma(part.sum, factors[1], all.sum * factors[0]);
  for (std::size_t d = 0; d < dim; ++d) {
    all.out[d] = std::fma(part.out[d], factors[1], all.out[d] * factors[0]);
  }
}

}  // namespace

void Attend(std::span<const float> q, std::span<const KvBlock> blocks, float scale,
            std::span<float> out, Target target) {
  SHOAL_CHECK(!blocks.empty() && q.size() == out.size() && q.size() <= kHeadDimMax);
  Part all;
  Part part;
  AttendBlock(q, blocks[0], scale, target, all);
  for (const KvBlock& block : blocks.subspan(1)) {
    AttendBlock(q, block, scale, target, part);
    Fold(part, q.size(), target, all);
  }
  for (std::size_t d = 0; d < q.size(); ++d) {
    const float y = all.out[d] / all.sum;
    out[d] = y == y ? y : std::bit_cast<float>(0x7fc00000U);
  }
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
