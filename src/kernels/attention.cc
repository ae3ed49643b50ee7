#include "kernels/attention.h"

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/parallel.h"
#include "kernels/math.h"
#include "kernels/matvec.h"
#include "kernels/reduce.h"

#ifndef SHOAL_KERNELS_ATTENTION_ONCE
#define SHOAL_KERNELS_ATTENTION_ONCE
namespace shoal::kernels {

struct WeighedSumArgs {
  const float* p;
  const float* v;  // [count, dim]
  std::size_t count;
  std::size_t dim;
  float* out;
};

// all = fma(part, by[1], all * by[0])
struct FoldArgs {
  const float* part;
  const float* by;
  std::size_t dim;
  float* all;
};

inline void FoldRest(const FoldArgs& a, std::size_t begin) {
  for (std::size_t d = begin; d < a.dim; ++d) {
    a.all[d] = std::fma(a.part[d], a.by[1], a.all[d] * a.by[0]);
  }
}

inline void WeighedSumRest(const WeighedSumArgs& a, std::size_t begin) {
  for (std::size_t d = begin; d < a.dim; ++d) {
    float sum = 0;
    for (std::size_t j = 0; j < a.count; ++j) {
      sum = std::fma(a.p[j], a.v[j * a.dim + d], sum);
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
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  hn::Vec<decltype(d)> sums[kCount];
  HWY_UNROLL(4) for (std::size_t i = 0; i < kCount; ++i) sums[i] = hn::Zero(d);
  for (std::size_t j = 0; j < a.count; ++j) {
    const auto p = hn::Set(d, a.p[j]);
    const float* v = a.v + j * a.dim + begin;
    HWY_UNROLL(4) for (std::size_t i = 0; i < kCount; ++i) {
      sums[i] = hn::MulAdd(p, hn::LoadU(d, v + i * kLanes), sums[i]);
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

void FoldPart(const FoldArgs& a) {
  const hn::ScalableTag<float> d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  const auto by_all = hn::Set(d, a.by[0]);
  const auto by_part = hn::Set(d, a.by[1]);
  std::size_t i = 0;
  for (; i + kLanes <= a.dim; i += kLanes) {
    const auto all = hn::Mul(hn::LoadU(d, a.all + i), by_all);
    hn::StoreU(hn::MulAdd(hn::LoadU(d, a.part + i), by_part, all), d, a.all + i);
  }
  FoldRest(a, i);
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // SHOAL_SIMD

#if HWY_ONCE
namespace shoal::kernels {
namespace {

void RefWeighedSum(const WeighedSumArgs& a) { WeighedSumRest(a, 0); }
void RefFoldPart(const FoldArgs& a) { FoldRest(a, 0); }

using WeighedSumKernel = void(const WeighedSumArgs&);
constexpr Implementation<WeighedSumKernel> kTable[] = {
    SHOAL_SIMD_ROWS(WeighedSumKernel, WeighedSum){Target::kRef, &RefWeighedSum}};
using FoldKernel = void(const FoldArgs&);
constexpr Implementation<FoldKernel> kFoldTable[] = {
    SHOAL_SIMD_ROWS(FoldKernel, FoldPart){Target::kRef, &RefFoldPart}};

struct Part {
  float max;
  float sum;
  float out[kHeadDimMax];
};

// Heads that are worked on together: keys and values are made floats once for all of them.
constexpr std::size_t kHeadsAtOnce = 8;

class HeadGroup {
 public:
  HeadGroup(std::span<const float> q, std::size_t dim, KvType type, float scale, Target target)
      : q_(q), dim_(dim), heads_(q.size() / dim), type_(type), scale_(scale), target_(target) {}

  void Run(std::span<const KvBlock> blocks, std::span<float> out) {
    AddBlock(blocks[0], all_);
    for (const KvBlock& block : blocks.subspan(1)) {
      AddBlock(block, parts_);
      for (std::size_t h = 0; h < heads_; ++h) Fold(parts_[h], all_[h]);
    }
    for (std::size_t h = 0; h < heads_; ++h) {
      for (std::size_t d = 0; d < dim_; ++d) {
        const float y = all_[h].out[d] / all_[h].sum;
        out[h * dim_ + d] = y == y ? y : std::bit_cast<float>(0x7fc00000U);
      }
    }
  }

 private:
  void AddBlock(const KvBlock& block, Part* parts) {
    SHOAL_CHECK(block.count > 0 && block.count <= kAttentionBlock);
    float scores[kHeadsAtOnce][kAttentionBlock];
    LoadKvRows(type_, block.keys, block.count, dim_, rows_, target_);
    for (std::size_t h = 0; h < heads_; ++h) {
      const std::span<float> s(scores[h], block.count);
      MatVec({rows_, block.count * dim_}, q_.subspan(h * dim_, dim_), s, serial_, target_);
      for (float& score : s) score *= scale_;
      parts[h].max = Max(s, target_);
      for (float& score : s) score -= parts[h].max;
      Exp(s, s, serial_, target_);
      parts[h].sum = Sum(s, target_);
    }
    LoadKvRows(type_, block.values, block.count, dim_, rows_, target_);
    WeighedSumKernel* const weigh = Choose<WeighedSumKernel>(kTable, target_);
    for (std::size_t h = 0; h < heads_; ++h) {
      weigh({.p = scores[h], .v = rows_, .count = block.count, .dim = dim_, .out = parts[h].out});
    }
  }

  // Folds a later part into `all`.
  void Fold(const Part& part, Part& all) {
    const float max = all.max < part.max ? part.max : all.max;
    float factors[2] = {all.max - max, part.max - max};
    Exp(factors, factors, serial_, target_);
    all.max = max;
    all.sum = std::fma(part.sum, factors[1], all.sum * factors[0]);
    Choose<FoldKernel>(kFoldTable,
                       target_)({.part = part.out, .by = factors, .dim = dim_, .all = all.out});
  }

  std::span<const float> q_;
  std::size_t dim_;
  std::size_t heads_;
  KvType type_;
  float scale_;
  Target target_;
  Serial serial_;
  Part all_[kHeadsAtOnce];
  Part parts_[kHeadsAtOnce];
  float rows_[kAttentionBlock * kHeadDimMax];
};

}  // namespace

void Attend(std::span<const float> q, std::size_t head_dim, std::span<const KvBlock> blocks,
            KvType type, float scale, std::span<float> out, Target target) {
  SHOAL_CHECK(!blocks.empty() && head_dim > 0 && head_dim <= kHeadDimMax);
  SHOAL_CHECK(q.size() == out.size() && q.size() % head_dim == 0 && CanKeep(type, head_dim));
  const std::size_t step = kHeadsAtOnce * head_dim;
  for (std::size_t at = 0; at < q.size(); at += step) {
    const std::size_t size = std::min(step, q.size() - at);
    HeadGroup(q.subspan(at, size), head_dim, type, scale, target)
        .Run(blocks, out.subspan(at, size));
  }
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
