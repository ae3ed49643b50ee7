#include "kernels/rmsnorm.h"

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rmsnorm.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cmath>
#include <cstddef>

#include "kernels/chunks.h"
#include "kernels/map-inl.h"
#include "kernels/reduce.h"
#include "kernels/scalar_lanes.h"

#if SHOAL_SIMD
HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

struct ScaleByWeight {
  VectorF32::F scale;
  HWY_INLINE VectorF32::F operator()(VectorF32::F x, VectorF32::F weight) const {
    return (x * scale) * weight;
  }
};

}  // namespace

void MapScaleByWeight(float scale, const float* x, const float* weight, float* y, std::size_t n) {
  Map(ScaleByWeight{VectorF32::Set(scale)}, n, y, x, weight);
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // SHOAL_SIMD

#if HWY_ONCE
namespace shoal::kernels {
namespace {

void RefScaleByWeight(float scale, const float* x, const float* weight, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = HWY_NAMESPACE::Canonical<ScalarF32>((x[i] * scale) * weight[i]);
  }
}

using ScaleKernel = void(float, const float*, const float*, float*, std::size_t);
constexpr Implementation<ScaleKernel> kTable[] = {
    SHOAL_SIMD_ROWS(ScaleKernel, MapScaleByWeight){Target::kRef, &RefScaleByWeight}};

}  // namespace

void RmsNorm(std::span<const float> x, std::span<const float> weight, float epsilon,
             std::span<float> y, Parallel& parallel, Target target) {
  const std::size_t n = weight.size();
  SHOAL_CHECK_EQ(x.size(), y.size());
  SHOAL_CHECK_GT(n, std::size_t{0});
  SHOAL_CHECK_EQ(x.size() % n, std::size_t{0});
  ScaleKernel* const kernel = Choose<ScaleKernel>(kTable, target);
  ForChunks(x.size() / n, RowsPerTask(n), parallel, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const float squares = SumOfSquares(x.subspan(row * n, n), target);
      const float scale = 1.0F / std::sqrt(squares / static_cast<float>(n) + epsilon);
      kernel(scale, x.data() + row * n, weight.data(), y.data() + row * n, n);
    }
  });
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
