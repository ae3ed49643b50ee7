#include "kernels/dot_i8.h"

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dot_i8.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "kernels/chunks.h"
#include "kernels/dot_i8_tiles.h"
#if defined(__aarch64__)
#include "kernels/dot_i8_arm.h"
#endif

#if SHOAL_SIMD
HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Four rows share what was loaded and widened of x.
constexpr std::size_t kRowsAtOnce = 4;

// Bytes are widened to 16 bits, in which a product is exact, and pairs of products added to 32.
template <std::size_t kRows>
void WidenedTile(const std::int8_t* w, const std::int8_t* x, std::size_t k, std::int32_t* y,
                 std::size_t /*y_stride*/) {
  const hn::ScalableTag<std::int16_t> d16;
  const hn::Rebind<std::int8_t, decltype(d16)> d8;
  const hn::RepartitionToWide<decltype(d16)> d32;
  constexpr std::size_t kStep = hn::MaxLanes(d16);
  hn::Vec<decltype(d32)> sums[kRows];  // NEON needs two: it takes half of a vector at a time.
  hn::Vec<decltype(d32)> more_sums[kRows];
  for (std::size_t r = 0; r < kRows; ++r) sums[r] = more_sums[r] = hn::Zero(d32);
  std::size_t i = 0;
  for (; i + kStep <= k; i += kStep) {
    const auto column = hn::PromoteTo(d16, hn::LoadU(d8, x + i));
    HWY_UNROLL(4) for (std::size_t r = 0; r < kRows; ++r) {
      const auto row = hn::PromoteTo(d16, hn::LoadU(d8, w + r * k + i));
      sums[r] = hn::ReorderWidenMulAccumulate(d32, row, column, sums[r], more_sums[r]);
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    const std::int32_t sum = hn::GetLane(hn::SumOfLanes(d32, sums[r] + more_sums[r]));
    y[r] = sum + DotI8Rest(w + r * k, x, i, k);
  }
}

}  // namespace

std::int32_t WidenedDotI8(const std::int8_t* x, const std::int8_t* y, std::size_t k) {
  std::int32_t result = 0;
  WidenedTile<1>(x, y, k, &result, 1);
  return result;
}

void WidenedMatMulI8(const MatMulI8Args& args) {
  ForTiles<kRowsAtOnce, 1>(args, &WidenedTile<kRowsAtOnce>, &WidenedTile<1>);
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // SHOAL_SIMD

#if HWY_ONCE
namespace shoal::kernels {
namespace {

std::int32_t RefDotI8(const std::int8_t* x, const std::int8_t* y, std::size_t k) {
  return DotI8Rest(x, y, 0, k);
}

void RefMatMulI8(const MatMulI8Args& a) {
  for (std::size_t c = 0; c < a.columns; ++c) {
    for (std::size_t r = 0; r < a.rows; ++r) {
      a.y[c * a.y_stride + r] = RefDotI8(a.w + r * a.k, a.x + c * a.k, a.k);
    }
  }
}

using DotKernel = std::int32_t(const std::int8_t*, const std::int8_t*, std::size_t);
constexpr Implementation<DotKernel> kDotTable[] = {
#if defined(__aarch64__)
    {Target::kDotprod, &DotI8Dotprod},
#endif
    SHOAL_SIMD_ROWS(DotKernel, WidenedDotI8){Target::kRef, &RefDotI8}};

using MatMulKernel = void(const MatMulI8Args&);
constexpr Implementation<MatMulKernel> kMatMulTable[] = {
#if defined(__aarch64__)
    {Target::kI8mm, &MatMulI8I8mm},
    {Target::kDotprod, &MatMulI8Dotprod},
#endif
    SHOAL_SIMD_ROWS(MatMulKernel, WidenedMatMulI8){Target::kRef, &RefMatMulI8}};

}  // namespace

std::int32_t DotI8(std::span<const std::int8_t> x, std::span<const std::int8_t> y, Target target) {
  SHOAL_CHECK_EQ(x.size(), y.size());
  SHOAL_CHECK_LE(x.size(), kDotI8LengthMax);
  return Choose<DotKernel>(kDotTable, target)(x.data(), y.data(), x.size());
}

void MatMulI8(std::span<const std::int8_t> w, std::span<const std::int8_t> x, std::size_t k,
              std::span<std::int32_t> y, Parallel& parallel, Target target) {
  SHOAL_CHECK(k > 0 && k <= kDotI8LengthMax);
  SHOAL_CHECK(w.size() % k == 0 && x.size() % k == 0);
  const std::size_t rows = w.size() / k;
  const std::size_t columns = x.size() / k;
  SHOAL_CHECK_EQ(y.size(), rows * columns);
  MatMulKernel* const kernel = Choose<MatMulKernel>(kMatMulTable, target);
  // Whole tiles of four rows for every task but the last.
  const std::size_t grain = (RowsPerTask(k) + 3) / 4 * 4;
  ForChunks(rows, grain, parallel, [&](std::size_t begin, std::size_t end) {
    kernel({.w = w.data() + begin * k,
            .x = x.data(),
            .y = y.data() + begin,
            .rows = end - begin,
            .columns = columns,
            .k = k,
            .y_stride = rows});
  });
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
