// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/row_sums.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstddef>

#include "kernels/row_ops.h"
#include "kernels/row_partition.h"
#include "kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

// Sums of dy and, if x has data, of x * dy.
template <class L>
HWY_INLINE void SumBlock(ConstRows x, ConstRows dy, const RowPartition::Block& block, float* sums) {
  const std::size_t rows = block.row_end - block.row_begin;
  const std::size_t channels = block.channel_end - block.channel_begin;
  const float* const first = dy.row(block.row_begin) + block.channel_begin;
  if (x.data == nullptr) {
    SumOverRows<L, 1>(rows, channels, sums, dy.channels,
                      [&](std::size_t row, std::size_t c, auto lanes, auto& terms) SHOAL_LAMBDA {
                        terms[0] = terms[0] + lanes.Load(first + row * dy.stride + c);
                      });
    return;
  }
  const float* const first_x = x.row(block.row_begin) + block.channel_begin;
  SumOverRows<L, 2>(rows, channels, sums, dy.channels,
                    [&](std::size_t row, std::size_t c, auto lanes, auto& terms) SHOAL_LAMBDA {
                      const auto d = lanes.Load(first + row * dy.stride + c);
                      const auto factor = lanes.Load(first_x + row * x.stride + c);
                      terms[0] = terms[0] + d;
                      terms[1] = L::Fma(d, factor, terms[1]);
                    });
}

}  // namespace

#if SHOAL_SIMD
void SimdSumBlock(ConstRows x, ConstRows dy, const RowPartition::Block& block, float* sums) {
  SumBlock<VectorRow>(x, dy, block, sums);
}
#endif  // SHOAL_SIMD
#if HWY_ONCE
void RefSumBlock(ConstRows x, ConstRows dy, const RowPartition::Block& block, float* sums) {
  SumBlock<ScalarRow>(x, dy, block, sums);
}
#endif  // HWY_ONCE

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::kernels {
namespace {

using SumKernel = void(ConstRows, ConstRows, const RowPartition::Block&, float*);
constexpr Implementation<SumKernel> kTable[] = {
    SHOAL_SIMD_ROWS(SumKernel, SimdSumBlock){Target::kRef, &HWY_NAMESPACE::RefSumBlock}};

}  // namespace

std::size_t ColumnSumsScratchFloats(std::size_t rows, std::size_t channels) {
  return RowPartition(rows, channels).chunks() * 2 * channels;
}

void ColumnSums(ConstRows x, std::span<float> sums, bool accumulate, std::span<float> scratch,
                Parallel& parallel, Target target) {
  ScaleChannelsBackward(ConstRows(), x, {}, sums, accumulate, scratch, parallel, target);
}

void ScaleChannelsBackward(ConstRows x, ConstRows dy, std::span<float> dfactor,
                           std::span<float> doffset, bool accumulate, std::span<float> scratch,
                           Parallel& parallel, Target target) {
  CheckSameShape(x, dy);
  const std::size_t channels = dy.channels;
  SHOAL_CHECK_EQ(dfactor.size(), x.data == nullptr ? 0 : channels);
  SHOAL_CHECK(doffset.empty() || doffset.size() == channels);
  SHOAL_CHECK_GE(scratch.size(), ColumnSumsScratchFloats(dy.rows, channels));
  const RowPartition partition(dy.rows, channels);
  const std::size_t stride = (x.data == nullptr ? 1 : 2) * channels;
  SumKernel* const kernel = Choose<SumKernel>(kTable, target);
  partition.Run(parallel, [&](const RowPartition::Block& block) {
    kernel(x, dy, block, scratch.data() + block.chunk * stride + block.channel_begin);
  });
  // An empty `out` is not wanted.
  const auto finish = [&](const float* sums, std::span<float> out, std::size_t begin,
                          std::size_t end) {
    if (out.empty()) return;
    ForChunkSums(sums, partition.chunks(), stride, begin, end, [&](std::size_t c, double sum) {
      out[c] = static_cast<float>(sum + (accumulate ? static_cast<double>(out[c]) : 0.0));
    });
  };
  partition.RunChannels(parallel, [&](std::size_t begin, std::size_t end) {
    finish(scratch.data(), doffset, begin, end);
    finish(scratch.data() + channels, dfactor, begin, end);
  });
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
