#include "kernels/matvec.h"

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matvec.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstddef>

#include "kernels/chunks.h"
#include "kernels/float16.h"
#include "kernels/group-inl.h"
#include "kernels/math-inl.h"
#include "kernels/scalar_group.h"
#include "kernels/scalar_lanes.h"

#if SHOAL_SIMD
HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

// Rows at once: with a latency of 4 cycles and two units, 8 fused multiply-adds must be under way.
// Four rows are 8 vectors with AVX2 and 16 with NEON; AVX-512 has one vector a row.
constexpr std::size_t kRowsAtOnce = Group::kVectors == 1 ? 8 : 4;

template <class T>
HWY_INLINE void DotRows(const T* w, const float* x, std::size_t k, float* y) {
  Group sums[kRowsAtOnce];
  HWY_UNROLL(8) for (Group& sum : sums) sum = SetGroup(0.0F);
  std::size_t i = 0;
  for (; i + kGroupLanes <= k; i += kGroupLanes) {
    const Group shared = LoadGroup(x + i);
    HWY_UNROLL(8) for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
      AddProductTo(sums[r], LoadGroup(w + r * k + i), shared);
    }
  }
  if (i < k) {
    const Group shared = LoadSomeGroup(x + i, k - i, 0.0F);
    HWY_UNROLL(8) for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
      AddProductTo(sums[r], LoadSomeGroup(w + r * k + i, k - i, T{0}), shared);
    }
  }
  HWY_UNROLL(8) for (std::size_t r = 0; r < kRowsAtOnce; ++r) y[r] = Tree(sums[r]);
}

template <class T>
HWY_INLINE void GroupRows(const T* w, const float* x, float* y, std::size_t rows, std::size_t k) {
  std::size_t r = 0;
  for (; r + kRowsAtOnce <= rows; r += kRowsAtOnce) DotRows(w + r * k, x, k, y + r);
  for (; r < rows; ++r) y[r] = DotOf(w + r * k, x, k);
}

}  // namespace

void GroupMatVec(const float* w, const float* x, float* y, std::size_t rows, std::size_t k) {
  GroupRows(w, x, y, rows, k);
}
void GroupMatVecF16(const std::uint16_t* w, const float* x, float* y, std::size_t rows,
                    std::size_t k) {
  GroupRows(w, x, y, rows, k);
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // SHOAL_SIMD

#if HWY_ONCE
namespace shoal::kernels {
namespace {

float AsFloat(float value) { return value; }
float AsFloat(std::uint16_t bits) { return FloatFromF16(bits); }

template <class T>
void RefMatVec(const T* w, const float* x, float* y, std::size_t rows, std::size_t k) {
  for (std::size_t r = 0; r < rows; ++r) {
    ScalarGroup sum;
    for (std::size_t i = 0; i < k; ++i) sum.AddProduct(i, AsFloat(w[r * k + i]), x[i]);
    for (std::size_t i = k; i < WholeGroups(k); ++i) sum.AddProduct(i, 0.0F, 0.0F);
    y[r] = sum.Tree();
  }
}

template <class T>
using MatVecKernel = void(const T*, const float*, float*, std::size_t, std::size_t);

constexpr Implementation<MatVecKernel<float>> kTable[] = {
    SHOAL_SIMD_ROWS(MatVecKernel<float>, GroupMatVec){Target::kRef, &RefMatVec<float>}};
constexpr Implementation<MatVecKernel<std::uint16_t>> kF16Table[] = {SHOAL_SIMD_ROWS(
    MatVecKernel<std::uint16_t>, GroupMatVecF16){Target::kRef, &RefMatVec<std::uint16_t>}};

template <class T>
void Run(MatVecKernel<T>* kernel, std::span<const T> w, std::span<const float> x,
         std::span<float> y, Parallel& parallel) {
  const std::size_t k = x.size();
  SHOAL_CHECK_EQ(w.size(), y.size() * k);
  // A multiple of every target's rows at once, so that only the last task has single rows.
  const std::size_t grain = (RowsPerTask(k) + 7) / 8 * 8;
  ForChunks(y.size(), grain, parallel, [&](std::size_t begin, std::size_t end) {
    kernel(w.data() + begin * k, x.data(), y.data() + begin, end - begin, k);
    for (float& value : y.subspan(begin, end - begin)) {
      value = HWY_NAMESPACE::Canonical<ScalarF32>(value);
    }
  });
}

}  // namespace

void MatVec(std::span<const float> w, std::span<const float> x, std::span<float> y,
            Parallel& parallel, Target target) {
  Run(Choose<MatVecKernel<float>>(kTable, target), w, x, y, parallel);
}

void MatVecF16(std::span<const std::uint16_t> w, std::span<const float> x, std::span<float> y,
               Parallel& parallel, Target target) {
  Run(Choose<MatVecKernel<std::uint16_t>>(kF16Table, target), w, x, y, parallel);
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
