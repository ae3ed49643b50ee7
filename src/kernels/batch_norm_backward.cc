#include "kernels/batch_norm.h"

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/batch_norm_backward.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstddef>

#include "kernels/chunks.h"
#include "kernels/row_partition.h"
#include "kernels/rows-inl.h"

#ifndef SHOAL_KERNELS_BATCH_NORM_FACTORS
#define SHOAL_KERNELS_BATCH_NORM_FACTORS
namespace shoal::kernels {
namespace {

// Per channel: dx = dy * dy_factor + ((x - mean) * x_factor + constant).
struct GradientFactors {
  const float* dy_factor;
  const float* mean;
  const float* x_factor;
  const float* constant;
};

// Whether three such matrices come from memory in rows long enough to be streams of their own: four
// rows of each at a time then read at half the speed of one.
bool StreamsFromMemory(ConstRows x) {
  return x.size() >= (std::size_t{1} << 21U) && x.channels >= 128;
}

}  // namespace
}  // namespace shoal::kernels
#endif  // SHOAL_KERNELS_BATCH_NORM_FACTORS

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

// Sums of dy and of dy * (x - mean); the masked dy is written on the way.
template <class L>
HWY_INLINE void GradientSums(const BatchNormBackwardSumsArgs& args,
                             const RowPartition::Block& block, float* sums) {
  const std::size_t offset = block.channel_begin;
  const float* const mean = args.mean.data() + offset;
  WithConditions(
      [&](auto streams, auto relu, auto write, auto accumulate) SHOAL_LAMBDA {
        SumOverRows<L, 2, streams ? 1 : 4>(
            block.row_end - block.row_begin, block.channel_end - offset, sums, args.x.channels,
            [&](std::size_t i, std::size_t c, auto lanes, auto& terms) SHOAL_LAMBDA {
              const std::size_t row = block.row_begin + i;
              auto dy = lanes.Load(args.dy.row(row) + offset + c);
              if constexpr (relu) {
                dy = WherePositive<L>(lanes.Load(args.y.row(row) + offset + c), dy);
              }
              if constexpr (write) {
                float* const masked = args.masked.row(row) + offset + c;
                if constexpr (accumulate) {
                  lanes.Store(lanes.Load(masked) + dy, masked);
                } else {
                  lanes.Store(dy, masked);
                }
              }
              const auto centred = lanes.Load(args.x.row(row) + offset + c) - lanes.Load(mean + c);
              terms[0] = terms[0] + dy;
              terms[1] = L::Fma(dy, centred, terms[1]);
            });
      },
      StreamsFromMemory(args.x), args.y.data != nullptr, args.masked.data != nullptr,
      args.accumulate_masked);
}

template <class L>
HWY_INLINE void GradientOfRows(const BatchNormBackwardApplyArgs& args,
                               const GradientFactors& factors, std::size_t begin, std::size_t end) {
  WithConditions(
      [&](auto relu, auto accumulate) SHOAL_LAMBDA {
        for (std::size_t row = begin; row < end; ++row) {
          AlongRow<L>(args.x.channels, [&](std::size_t c, auto lanes) SHOAL_LAMBDA {
            auto dy = lanes.Load(args.dy.row(row) + c);
            if constexpr (relu) dy = WherePositive<L>(lanes.Load(args.y.row(row) + c), dy);
            const auto centred = lanes.Load(args.x.row(row) + c) - lanes.Load(factors.mean + c);
            auto dx =
                L::Fma(centred, lanes.Load(factors.x_factor + c), lanes.Load(factors.constant + c));
            dx = L::Fma(dy, lanes.Load(factors.dy_factor + c), dx);
            if constexpr (accumulate) dx = lanes.Load(args.dx.row(row) + c) + dx;
            lanes.Store(dx, args.dx.row(row) + c);
          });
        }
      },
      args.y.data != nullptr, args.accumulate);
}

template <class L>
HWY_INLINE void FrozenRows(ConstRows dy, ConstRows y, const float* scale, Rows dx, bool add,
                           std::size_t begin, std::size_t end) {
  WithConditions(
      [&](auto relu, auto accumulate) SHOAL_LAMBDA {
        for (std::size_t row = begin; row < end; ++row) {
          AlongRow<L>(dy.channels, [&](std::size_t c, auto lanes) SHOAL_LAMBDA {
            auto d = lanes.Load(dy.row(row) + c);
            if constexpr (relu) d = WherePositive<L>(lanes.Load(y.row(row) + c), d);
            const auto factor = lanes.Load(scale + c);
            if constexpr (accumulate) {
              d = L::Fma(d, factor, lanes.Load(dx.row(row) + c));
            } else {
              d = d * factor;
            }
            lanes.Store(d, dx.row(row) + c);
          });
        }
      },
      y.data != nullptr, add);
}

}  // namespace

#if SHOAL_SIMD
void SimdGradientSums(const BatchNormBackwardSumsArgs& args, const RowPartition::Block& block,
                      float* sums) {
  GradientSums<VectorRow>(args, block, sums);
}
void SimdGradientOfRows(const BatchNormBackwardApplyArgs& args, const GradientFactors& factors,
                        std::size_t begin, std::size_t end) {
  GradientOfRows<VectorRow>(args, factors, begin, end);
}
void SimdFrozenRows(ConstRows dy, ConstRows y, const float* scale, Rows dx, bool accumulate,
                    std::size_t begin, std::size_t end) {
  FrozenRows<VectorRow>(dy, y, scale, dx, accumulate, begin, end);
}
#endif  // SHOAL_SIMD
#if HWY_ONCE
void RefGradientSums(const BatchNormBackwardSumsArgs& args, const RowPartition::Block& block,
                     float* sums) {
  GradientSums<ScalarRow>(args, block, sums);
}
void RefGradientOfRows(const BatchNormBackwardApplyArgs& args, const GradientFactors& factors,
                       std::size_t begin, std::size_t end) {
  GradientOfRows<ScalarRow>(args, factors, begin, end);
}
void RefFrozenRows(ConstRows dy, ConstRows y, const float* scale, Rows dx, bool accumulate,
                   std::size_t begin, std::size_t end) {
  FrozenRows<ScalarRow>(dy, y, scale, dx, accumulate, begin, end);
}
#endif  // HWY_ONCE

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::kernels {
namespace {

using SumsKernel = void(const BatchNormBackwardSumsArgs&, const RowPartition::Block&, float*);
using ApplyKernel = void(const BatchNormBackwardApplyArgs&, const GradientFactors&, std::size_t,
                         std::size_t);
using FrozenKernel = void(ConstRows, ConstRows, const float*, Rows, bool, std::size_t, std::size_t);
constexpr Implementation<SumsKernel> kSumsTable[] = {
    SHOAL_SIMD_ROWS(SumsKernel, SimdGradientSums){Target::kRef, &HWY_NAMESPACE::RefGradientSums}};
constexpr Implementation<ApplyKernel> kApplyTable[] = {SHOAL_SIMD_ROWS(
    ApplyKernel, SimdGradientOfRows){Target::kRef, &HWY_NAMESPACE::RefGradientOfRows}};
constexpr Implementation<FrozenKernel> kFrozenTable[] = {
    SHOAL_SIMD_ROWS(FrozenKernel, SimdFrozenRows){Target::kRef, &HWY_NAMESPACE::RefFrozenRows}};

// Fills 3 floats per channel.
GradientFactors MakeFactors(const BatchNormBackwardApplyArgs& args, float* scratch) {
  const std::size_t channels = args.x.channels;
  float* const dy_factor = scratch;
  float* const x_factor = scratch + channels;
  float* const constant = scratch + 2 * channels;
  const auto rows = static_cast<double>(args.x.rows);
  for (std::size_t c = 0; c < channels; ++c) {
    const double inv_std = args.inv_std[c];
    const double scale = inv_std * (args.gamma.empty() ? 1.0 : static_cast<double>(args.gamma[c]));
    dy_factor[c] = static_cast<float>(scale);
    x_factor[c] =
        static_cast<float>(-scale * inv_std * static_cast<double>(args.sum_dy_xhat[c]) / rows);
    constant[c] = static_cast<float>(-scale * static_cast<double>(args.sum_dy[c]) / rows);
  }
  return {dy_factor, args.mean.data(), x_factor, constant};
}

}  // namespace

void BatchNormBackwardSums(const BatchNormBackwardSumsArgs& args, std::span<float> scratch,
                           Parallel& parallel, Target target) {
  const ConstRows& x = args.x;
  CheckSameShape(x, args.dy);
  CheckSameShape(x, args.y);
  CheckSameShape(x, args.masked);
  SHOAL_CHECK(!args.accumulate_masked || args.masked.data != args.dy.data);
  SHOAL_CHECK_EQ(args.sum_dy.size(), x.channels);
  SHOAL_CHECK_EQ(args.sum_dy_xhat.size(), x.channels);
  SHOAL_CHECK_GE(scratch.size(), BatchNormScratchFloats(x.rows, x.channels));
  const RowPartition partition(x.rows, x.channels);
  SumsKernel* const kernel = Choose<SumsKernel>(kSumsTable, target);
  partition.Run(parallel, [&](const RowPartition::Block& block) {
    kernel(args, block, scratch.data() + block.chunk * 2 * x.channels + block.channel_begin);
  });
  partition.RunChannels(parallel, [&](std::size_t begin, std::size_t end) {
    ForChunkSums(scratch.data(), partition.chunks(), 2 * x.channels, begin, end,
                 [&](std::size_t c, double sum) { args.sum_dy[c] = static_cast<float>(sum); });
    ForChunkSums(scratch.data() + x.channels, partition.chunks(), 2 * x.channels, begin, end,
                 [&](std::size_t c, double sum) {
                   const auto inv_std = static_cast<double>(args.inv_std[c]);
                   args.sum_dy_xhat[c] = static_cast<float>(sum * inv_std);
                 });
  });
}

void BatchNormBackwardApply(const BatchNormBackwardApplyArgs& args, std::span<float> scratch,
                            Parallel& parallel, Target target) {
  CheckSameShape(args.x, args.dx);
  CheckSameShape(args.dy, args.dx);
  CheckSameShape(args.y, args.dx);
  SHOAL_CHECK_GE(scratch.size(), 3 * args.x.channels);
  const GradientFactors factors = MakeFactors(args, scratch.data());
  ApplyKernel* const kernel = Choose<ApplyKernel>(kApplyTable, target);
  ForChunks(args.x.rows, RowsPerTask(args.x.channels), parallel,
            [&](std::size_t begin, std::size_t end) { kernel(args, factors, begin, end); });
}

void BatchNormBackwardFrozen(ConstRows dy, ConstRows y, std::span<const float> scale, Rows dx,
                             bool accumulate, Parallel& parallel, Target target) {
  CheckSameShape(dy, dx);
  CheckSameShape(y, dx);
  SHOAL_CHECK_EQ(scale.size(), dx.channels);
  FrozenKernel* const kernel = Choose<FrozenKernel>(kFrozenTable, target);
  ForChunks(dx.rows, RowsPerTask(dx.channels), parallel, [&](std::size_t begin, std::size_t end) {
    kernel(dy, y, scale.data(), dx, accumulate, begin, end);
  });
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
