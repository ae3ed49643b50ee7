#include "kernels/peak.h"

#include <array>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/peak.cc"
#include "kernels/simd_targets.h"
// clang-format off: this file is included again by foreach_target.h, once per target.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#if SHOAL_SIMD
#if HWY_ARCH_X86
#include <immintrin.h>
#endif
HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, 16>;

// A multiply-add takes 4 cycles and a large ARM core starts four in each, so that 16 chains
// are needed; AVX2's 16 registers hold 12 beside the constants, enough for x86's two.
constexpr std::size_t kChains = HWY_TARGET == HWY_AVX2 ? 12 : 24;

}  // namespace

FmaLoopResult FmaLoop(std::size_t iterations) {
  const Floats d;
  hn::Vec<Floats> chains[kChains];
  HWY_UNROLL(24)
  for (std::size_t i = 0; i < kChains; ++i) chains[i] = hn::Iota(d, static_cast<float>(i));
  const auto half = hn::Set(d, 0.5F);
  const auto one = hn::Set(d, 1.0F);
  for (std::size_t n = 0; n < iterations; ++n) {
    HWY_UNROLL(24)
    for (std::size_t i = 0; i < kChains; ++i) chains[i] = hn::MulAdd(chains[i], half, one);
  }
  auto sum = chains[0];
  HWY_UNROLL(24)
  for (std::size_t i = 1; i < kChains; ++i) sum = hn::Add(sum, chains[i]);
  const double per_round = 2.0 * static_cast<double>(kChains * hn::Lanes(d));
  return {per_round * static_cast<double>(iterations), hn::GetLane(hn::SumOfLanes(d, sum))};
}

FmaLoopResult Int8Loop(std::size_t iterations) {
#if HWY_TARGET == HWY_AVX2
  constexpr std::size_t kSums = 8;
  __m256i sums[kSums];
  __m256i bytes = _mm256_set1_epi8(3);
  const __m256i ones = _mm256_set1_epi16(1);
  HWY_UNROLL(8)
  for (std::size_t i = 0; i < kSums; ++i) sums[i] = _mm256_setzero_si256();
  for (std::size_t n = 0; n < iterations; ++n) {
    HWY_UNROLL(8)
    for (std::size_t i = 0; i < kSums; ++i) {
      __asm__("" : "+x"(bytes));  // Else one product would serve all.
      const __m256i pairs = _mm256_maddubs_epi16(bytes, bytes);
      sums[i] = _mm256_add_epi32(sums[i], _mm256_madd_epi16(pairs, ones));
    }
  }
  HWY_UNROLL(8)
  for (std::size_t i = 1; i < kSums; ++i) sums[0] = _mm256_add_epi32(sums[0], sums[i]);
  return {2.0 * 32 * static_cast<double>(kSums * iterations),
          static_cast<double>(_mm256_extract_epi32(sums[0], 0))};
#else
  (void)iterations;
  return {};
#endif
}

double ReadLoop(std::span<const float> data) {
  const Floats d;
  constexpr std::size_t kSums = 8;  // More than the additions in flight.
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<Floats> sums[kSums];
  HWY_UNROLL(8)
  for (std::size_t i = 0; i < kSums; ++i) sums[i] = hn::Zero(d);
  std::size_t at = 0;
  for (; at + kSums * lanes <= data.size(); at += kSums * lanes) {
    HWY_UNROLL(8)
    for (std::size_t i = 0; i < kSums; ++i) {
      sums[i] = hn::Add(sums[i], hn::LoadU(d, data.data() + at + i * lanes));
    }
  }
  HWY_UNROLL(8)
  for (std::size_t i = 1; i < kSums; ++i) sums[0] = hn::Add(sums[0], sums[i]);
  double sum = hn::GetLane(hn::SumOfLanes(d, sums[0]));
  for (; at < data.size(); ++at) sum += data[at];
  return sum;
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace shoal::kernels {
namespace {

FmaLoopResult RefFmaLoop(std::size_t iterations) {
  std::array<float, 12> chains{};
  for (std::size_t i = 0; i < chains.size(); ++i) chains[i] = static_cast<float>(i);
  for (std::size_t n = 0; n < iterations; ++n) {
    for (float& chain : chains) chain = std::fma(chain, 0.5F, 1.0F);
  }
  double sum = 0;
  for (const float chain : chains) sum += chain;
  return {2.0 * static_cast<double>(chains.size()) * static_cast<double>(iterations), sum};
}

FmaLoopResult RefInt8Loop(std::size_t /*iterations*/) { return {}; }

double RefReadLoop(std::span<const float> data) {
  double sum = 0;
  for (const float value : data) sum += value;
  return sum;
}

using FmaFunction = FmaLoopResult(std::size_t);
using ReadFunction = double(std::span<const float>);

}  // namespace

FmaLoopResult RunFmaLoop(std::size_t iterations, Target target) {
  static constexpr Implementation<FmaFunction> kTable[] = {
      SHOAL_SIMD_ROWS(FmaFunction, FmaLoop){Target::kRef, &RefFmaLoop},
  };
  return Choose(std::span<const Implementation<FmaFunction>>(kTable), target)(iterations);
}

FmaLoopResult RunInt8Loop(std::size_t iterations, Target target) {
  static constexpr Implementation<FmaFunction> kTable[] = {
      SHOAL_SIMD_ROWS(FmaFunction, Int8Loop){Target::kRef, &RefInt8Loop},
  };
  return Choose(std::span<const Implementation<FmaFunction>>(kTable), target)(iterations);
}

double RunReadLoop(std::span<const float> data, Target target) {
  static constexpr Implementation<ReadFunction> kTable[] = {
      SHOAL_SIMD_ROWS(ReadFunction, ReadLoop){Target::kRef, &RefReadLoop},
  };
  return Choose(std::span<const Implementation<ReadFunction>>(kTable), target)(data);
}

}  // namespace shoal::kernels
#endif
