#include "kernels/softmax.h"

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <limits>

#include "kernels/chunks.h"
#include "kernels/group-inl.h"
#include "kernels/map-inl.h"
#include "kernels/math-inl.h"
#include "kernels/scalar_group.h"
#include "kernels/scalar_lanes.h"

#if SHOAL_SIMD
HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE Group ExpOfDifference(Group x, float max) {
  HWY_UNROLL(4) for (auto& v : x.v) v = Exp<VectorF32>(v - VectorF32::Set(max));
  return x;
}

struct DivideBy {
  VectorF32::F divisor;
  HWY_INLINE VectorF32::F operator()(VectorF32::F x) const { return x / divisor; }
};

}  // namespace

void GroupSoftmax(const float* x, float* y, std::size_t n) {
  const float max = MaxOf(x, n) + 0.0F;
  Group sum = SetGroup(0.0F);
  std::size_t i = 0;
  for (; i + kGroupLanes <= n; i += kGroupLanes) {
    const Group e = ExpOfDifference(LoadGroup(x + i), max);
    StoreGroup(e, y + i);
    AddTo(sum, e);
  }
  if (i < n) {
    float lanes[kGroupLanes];
    StoreGroup(ExpOfDifference(LoadSomeGroup(x + i, n - i, 0.0F), max), lanes);
    std::memcpy(y + i, lanes, (n - i) * sizeof(float));
    AddTo(sum, LoadSomeGroup(lanes, n - i, 0.0F));
  }
  Map(DivideBy{VectorF32::Set(Tree(sum))}, n, y, static_cast<const float*>(y));
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // SHOAL_SIMD

#if HWY_ONCE
namespace shoal::kernels {
namespace {

void RefSoftmax(const float* x, float* y, std::size_t n) {
  float max = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < n; ++i) max = MaxOrNaN(max, x[i]);
  max += 0.0F;
  ScalarGroup sum;
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = HWY_NAMESPACE::Exp<ScalarF32>(x[i] - max);
    sum.Add(i, y[i]);
  }
  for (std::size_t i = n; i < WholeGroups(n); ++i) sum.Add(i, 0.0F);
  const float total = sum.Tree();
  for (std::size_t i = 0; i < n; ++i) y[i] = HWY_NAMESPACE::Canonical<ScalarF32>(y[i] / total);
}

using RowKernel = void(const float*, float*, std::size_t);
constexpr Implementation<RowKernel> kTable[] = {
    SHOAL_SIMD_ROWS(RowKernel, GroupSoftmax){Target::kRef, &RefSoftmax}};

}  // namespace

void Softmax(std::span<const float> x, std::size_t row_size, std::span<float> y, Parallel& parallel,
             Target target) {
  SHOAL_CHECK_EQ(x.size(), y.size());
  SHOAL_CHECK_GT(row_size, std::size_t{0});
  SHOAL_CHECK_EQ(x.size() % row_size, std::size_t{0});
  RowKernel* const kernel = Choose<RowKernel>(kTable, target);
  const std::size_t rows = x.size() / row_size;
  ForChunks(rows, RowsPerTask(row_size), parallel, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      kernel(x.data() + row * row_size, y.data() + row * row_size, row_size);
    }
  });
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
