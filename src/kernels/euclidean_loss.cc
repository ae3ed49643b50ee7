#include "kernels/euclidean_loss.h"

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/euclidean_loss.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <array>
#include <cstddef>

#include "kernels/chunks.h"
#include "kernels/row_partition.h"
#include "kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

// Of rows [begin, end); each row's lanes are added in double.
template <class L>
HWY_INLINE double Distance(ConstRows a, ConstRows b, std::size_t begin, std::size_t end) {
  double total = 0;
  for (std::size_t row = begin; row < end; ++row) {
    typename L::F sum = L::Set(0.0F);
    AlongRow<L>(a.channels, [&](std::size_t c, auto lanes) SHOAL_LAMBDA {
      const auto d = lanes.Load(a.row(row) + c) - lanes.Load(b.row(row) + c);
      sum = L::Fma(d, d, sum);
    });
    float values[L::kLanes];
    L::Store(sum, values);
    for (const float value : values) total += static_cast<double>(value);
  }
  return total;
}

template <class L>
HWY_INLINE void Difference(float scale, ConstRows a, ConstRows b, Rows dx, bool accumulate,
                           std::size_t begin, std::size_t end) {
  using F = typename L::F;
  const F factor = L::Set(scale);
  const auto difference = [&](F x, F y) SHOAL_LAMBDA { return factor * (x - y); };
  MapRowsTo<L>(dx, accumulate, begin, end, difference, a, b);
}

}  // namespace

#if SHOAL_SIMD
double SimdDistance(ConstRows a, ConstRows b, std::size_t begin, std::size_t end) {
  return Distance<VectorRow>(a, b, begin, end);
}
void SimdDifference(float scale, ConstRows a, ConstRows b, Rows dx, bool accumulate,
                    std::size_t begin, std::size_t end) {
  Difference<VectorRow>(scale, a, b, dx, accumulate, begin, end);
}
#endif  // SHOAL_SIMD
#if HWY_ONCE
double RefDistance(ConstRows a, ConstRows b, std::size_t begin, std::size_t end) {
  return Distance<ScalarRow>(a, b, begin, end);
}
void RefDifference(float scale, ConstRows a, ConstRows b, Rows dx, bool accumulate,
                   std::size_t begin, std::size_t end) {
  Difference<ScalarRow>(scale, a, b, dx, accumulate, begin, end);
}
#endif  // HWY_ONCE

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::kernels {
namespace {

using DistanceKernel = double(ConstRows, ConstRows, std::size_t, std::size_t);
using DifferenceKernel = void(float, ConstRows, ConstRows, Rows, bool, std::size_t, std::size_t);
constexpr Implementation<DistanceKernel> kDistanceTable[] = {
    SHOAL_SIMD_ROWS(DistanceKernel, SimdDistance){Target::kRef, &HWY_NAMESPACE::RefDistance}};
constexpr Implementation<DifferenceKernel> kDifferenceTable[] = {
    SHOAL_SIMD_ROWS(DifferenceKernel, SimdDifference){Target::kRef, &HWY_NAMESPACE::RefDifference}};

}  // namespace

double SquaredDistance(ConstRows a, ConstRows b, Parallel& parallel, Target target) {
  CheckSameShape(a, b);
  DistanceKernel* const kernel = Choose<DistanceKernel>(kDistanceTable, target);
  std::array<double, RowPartition::kChunksMax> sums{};
  RowPartition(a.rows, 1).Run(parallel, [&](const RowPartition::Block& block) {
    sums[block.chunk] = kernel(a, b, block.row_begin, block.row_end);
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

void ScaledDifference(float scale, ConstRows a, ConstRows b, Rows dx, bool accumulate,
                      Parallel& parallel, Target target) {
  CheckSameShape(a, dx);
  CheckSameShape(b, dx);
  DifferenceKernel* const kernel = Choose<DifferenceKernel>(kDifferenceTable, target);
  ForChunks(dx.rows, RowsPerTask(dx.channels), parallel, [&](std::size_t begin, std::size_t end) {
    kernel(scale, a, b, dx, accumulate, begin, end);
  });
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
