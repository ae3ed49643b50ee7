#include "kernels/quant_matmul.h"

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quant_matmul.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <cstring>

#include "kernels/quant_ref.h"
#include "kernels/quant_tile.h"
#if defined(__aarch64__)
#include "kernels/quant_arm.h"
#endif

#if SHOAL_SIMD
#if HWY_TARGET == HWY_NEON
#include "kernels/quant_isa_arm-inl.h"
#else
#include "kernels/quant_isa_x86-inl.h"
#endif
#include "kernels/quant_tile-inl.h"
HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {

#if HWY_TARGET == HWY_NEON
using QuantIsa = QuantNeon<WidenedDot4>;
#else
using QuantIsa = QuantAvx2;
#endif

void SimdQuantTile(PackedForm form, const QuantTile& tile) { RunQuantTile<QuantIsa>(form, tile); }

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // SHOAL_SIMD

#if HWY_ONCE
namespace shoal::kernels {
namespace {

constexpr Implementation<QuantTileKernel> kTable[] = {
#if defined(__x86_64__)
    SHOAL_SIMD_ROWS(QuantTileKernel, SimdQuantTile)
#endif
        {Target::kRef, &RefQuantTile}};

// Groups a task works on: what it reads of the weights is worth handing to another core, and there
// are a few tasks for every core, for one of them may be slow.
std::size_t GroupsPerTask(const PackedWeights& w, std::size_t columns, std::size_t workers) {
  constexpr std::size_t kBytes = 32768;
  const std::size_t work = w.group_bytes() * columns;
  const std::size_t least = std::max<std::size_t>(1, kBytes / std::max<std::size_t>(1, work));
  return std::max(least, w.groups() / (8 * workers));
}

void RunGroup(const PackedWeights& w, const QuantizedRows& x, std::size_t g, std::span<float> y,
              PackedForm form, QuantTileKernel* kernel) {
  const std::size_t rows = std::min(kPackedRows, w.rows() - g * kPackedRows);
  const bool whole = rows == kPackedRows;
  float last[kTileColumns][kPackedRows];
  for (std::size_t begin = 0; begin < x.rows(); begin += kTileColumns) {
    QuantTile tile{.w = w.group(g),
                   .chunks = w.k() / LayoutOf(form).block,
                   .columns = std::min(kTileColumns, x.rows() - begin),
                   .q = {},
                   .scales = {},
                   .sums = {},
                   .y = {}};
    for (std::size_t c = 0; c < tile.columns; ++c) {
      tile.q[c] = x.q(begin + c);
      tile.scales[c] = x.scales(begin + c);
      tile.sums[c] = x.sums(begin + c);
      tile.y[c] = whole ? y.data() + (begin + c) * w.rows() + g * kPackedRows : last[c];
    }
    kernel(form, tile);
    if (w.unit() != 1) {
      for (std::size_t c = 0; c < tile.columns; ++c) {
        for (std::size_t r = 0; r < kPackedRows; ++r) tile.y[c][r] *= w.unit();
      }
    }
    if (whole) continue;
    for (std::size_t c = 0; c < tile.columns; ++c) {
      std::memcpy(y.data() + (begin + c) * w.rows() + g * kPackedRows, last[c],
                  rows * sizeof(float));
    }
  }
}

}  // namespace

void QuantMatMul(const PackedWeights& w, const QuantizedRows& x, std::span<float> y,
                 Parallel& parallel, Target target) {
  SHOAL_CHECK_EQ(w.k(), x.k());
  SHOAL_CHECK_EQ(LayoutOf(w.form()).block, x.block());
  SHOAL_CHECK_EQ(y.size(), w.rows() * x.rows());
  QuantTileKernel* const kernel = Choose<QuantTileKernel>(kTable, target);
  const std::size_t grain = GroupsPerTask(w, x.rows(), parallel.workers());
  const std::size_t tasks = (w.groups() + grain - 1) / grain;
  parallel.Run(tasks, [&](std::size_t task, std::size_t /*worker*/) {
    const std::size_t end = std::min(w.groups(), (task + 1) * grain);
    for (std::size_t g = task * grain; g < end; ++g) RunGroup(w, x, g, y, w.form(), kernel);
  });
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
