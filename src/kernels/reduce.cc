#include "kernels/reduce.h"

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <limits>

#include "kernels/group-inl.h"
#include "kernels/math-inl.h"
#include "kernels/scalar_group.h"
#include "kernels/scalar_lanes.h"

#if SHOAL_SIMD
HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {

float GroupSum(const float* x, std::size_t n) {
  Group sum = SetGroup(0.0F);
  std::size_t i = 0;
  for (; i + kGroupLanes <= n; i += kGroupLanes) AddTo(sum, LoadGroup(x + i));
  if (i < n) AddTo(sum, LoadSomeGroup(x + i, n - i, 0.0F));
  return Tree(sum);
}

float GroupDot(const float* x, const float* y, std::size_t n) { return DotOf(x, y, n); }

float GroupMax(const float* x, std::size_t n) { return MaxOf(x, n); }

// The maximum first, then where it is: two passes without indices in vectors.
std::size_t GroupArgMax(const float* x, std::size_t n) {
  using V = VectorF32;
  const float max = MaxOf(x, n);
  const bool want_nan = max != max;
  const auto wanted = V::Set(max);
  std::size_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) {
    const auto v = V::Load(x + i);
    const auto found = want_nan ? V::IsNaN(v) : v == wanted;
    if (!hn::AllFalse(V::D(), found)) break;
  }
  while (want_nan ? x[i] == x[i] : x[i] != max) ++i;
  return i;
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // SHOAL_SIMD

#if HWY_ONCE
namespace shoal::kernels {
namespace {

float RefSum(const float* x, std::size_t n) {
  ScalarGroup sum;
  for (std::size_t i = 0; i < WholeGroups(n); ++i) sum.Add(i, i < n ? x[i] : 0.0F);
  return sum.Tree();
}

float RefDot(const float* x, const float* y, std::size_t n) {
  ScalarGroup sum;
  for (std::size_t i = 0; i < n; ++i) sum.AddProduct(i, x[i], y[i]);
  for (std::size_t i = n; i < WholeGroups(n); ++i) sum.AddProduct(i, 0.0F, 0.0F);
  return sum.Tree();
}

float RefMax(const float* x, std::size_t n) {
  float max = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < n; ++i) max = MaxOrNaN(max, x[i]);
  return max;
}

std::size_t RefArgMax(const float* x, std::size_t n) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < n && x[best] == x[best]; ++i) {
    if (x[i] > x[best] || x[i] != x[i]) best = i;
  }
  return best;
}

using SumKernel = float(const float*, std::size_t);
using DotKernel = float(const float*, const float*, std::size_t);
using ArgMaxKernel = std::size_t(const float*, std::size_t);
constexpr Implementation<SumKernel> kSumTable[] = {
    SHOAL_SIMD_ROWS(SumKernel, GroupSum){Target::kRef, &RefSum}};
constexpr Implementation<DotKernel> kDotTable[] = {
    SHOAL_SIMD_ROWS(DotKernel, GroupDot){Target::kRef, &RefDot}};
constexpr Implementation<SumKernel> kMaxTable[] = {
    SHOAL_SIMD_ROWS(SumKernel, GroupMax){Target::kRef, &RefMax}};
constexpr Implementation<ArgMaxKernel> kArgMaxTable[] = {
    SHOAL_SIMD_ROWS(ArgMaxKernel, GroupArgMax){Target::kRef, &RefArgMax}};

float CanonicalScalar(float x) { return HWY_NAMESPACE::Canonical<ScalarF32>(x); }

}  // namespace

float Sum(std::span<const float> x, Target target) {
  return CanonicalScalar(Choose<SumKernel>(kSumTable, target)(x.data(), x.size()));
}

float Dot(std::span<const float> x, std::span<const float> y, Target target) {
  SHOAL_CHECK_EQ(x.size(), y.size());
  return CanonicalScalar(Choose<DotKernel>(kDotTable, target)(x.data(), y.data(), x.size()));
}

float SumOfSquares(std::span<const float> x, Target target) { return Dot(x, x, target); }

float Max(std::span<const float> x, Target target) {
  // Lanes meet in another order on each target, so which of -0 and +0 wins is settled here.
  return CanonicalScalar(Choose<SumKernel>(kMaxTable, target)(x.data(), x.size()) + 0.0F);
}

std::size_t ArgMax(std::span<const float> x, Target target) {
  SHOAL_CHECK(!x.empty());
  return Choose<ArgMaxKernel>(kArgMaxTable, target)(x.data(), x.size());
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
