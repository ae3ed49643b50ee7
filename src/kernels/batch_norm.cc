#include "kernels/batch_norm.h"

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/batch_norm.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/chunks.h"
#include "kernels/row_partition.h"
#include "kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

// Sums of x - (the block's first row) and of its square.
template <class L>
HWY_INLINE void ShiftedSums(ConstRows x, const RowPartition::Block& block, float* sums) {
  const float* const first = x.row(block.row_begin) + block.channel_begin;
  SumOverRows<L, 2>(block.row_end - block.row_begin, block.channel_end - block.channel_begin, sums,
                    x.channels,
                    [&](std::size_t row, std::size_t c, auto lanes, auto& terms) SHOAL_LAMBDA {
                      const auto d = lanes.Load(first + row * x.stride + c) - lanes.Load(first + c);
                      terms[0] = terms[0] + d;
                      terms[1] = L::Fma(d, d, terms[1]);
                    });
}

template <class L, bool kResidual, bool kRelu>
HWY_INLINE void ApplyToRow(const float* x, const float* scale, const float* shift,
                           const float* residual, float* y, std::size_t channels) {
  AlongRow<L>(channels, [&](std::size_t c, auto lanes) SHOAL_LAMBDA {
    auto v = L::Fma(lanes.Load(x + c), lanes.Load(scale + c), lanes.Load(shift + c));
    if constexpr (kResidual) v = v + lanes.Load(residual + c);
    if constexpr (kRelu) v = L::Select(v < L::Set(0.0F), L::Set(0.0F), v);
    lanes.Store(v, y + c);
  });
}

template <class L>
HWY_INLINE void Apply(ConstRows x, const float* scale, const float* shift, ConstRows residual,
                      bool relu, Rows y, std::size_t begin, std::size_t end) {
  WithConditions(
      [&](auto has_residual, auto has_relu) SHOAL_LAMBDA {
        for (std::size_t row = begin; row < end; ++row) {
          ApplyToRow<L, has_residual, has_relu>(x.row(row), scale, shift, residual.row(row),
                                                y.row(row), x.channels);
        }
      },
      residual.data != nullptr, relu);
}

}  // namespace

#if SHOAL_SIMD
void SimdShiftedSums(ConstRows x, const RowPartition::Block& block, float* sums) {
  ShiftedSums<VectorRow>(x, block, sums);
}
void SimdApply(ConstRows x, const float* scale, const float* shift, ConstRows residual, bool relu,
               Rows y, std::size_t begin, std::size_t end) {
  Apply<VectorRow>(x, scale, shift, residual, relu, y, begin, end);
}
#endif  // SHOAL_SIMD
#if HWY_ONCE
void RefShiftedSums(ConstRows x, const RowPartition::Block& block, float* sums) {
  ShiftedSums<ScalarRow>(x, block, sums);
}
void RefApply(ConstRows x, const float* scale, const float* shift, ConstRows residual, bool relu,
              Rows y, std::size_t begin, std::size_t end) {
  Apply<ScalarRow>(x, scale, shift, residual, relu, y, begin, end);
}
#endif  // HWY_ONCE

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::kernels {
namespace {

using SumsKernel = void(ConstRows, const RowPartition::Block&, float*);
using ApplyKernel = void(ConstRows, const float*, const float*, ConstRows, bool, Rows, std::size_t,
                         std::size_t);
constexpr Implementation<SumsKernel> kSumsTable[] = {
    SHOAL_SIMD_ROWS(SumsKernel, SimdShiftedSums){Target::kRef, &HWY_NAMESPACE::RefShiftedSums}};
constexpr Implementation<ApplyKernel> kApplyTable[] = {
    SHOAL_SIMD_ROWS(ApplyKernel, SimdApply){Target::kRef, &HWY_NAMESPACE::RefApply}};

// The mean and variance of channels [begin, end) from the sums of each chunk: the variance within
// chunks plus that of their means, all as differences from the first row of x. REQUIRES: at most
// kChannelsTogether channels.
void CombineChannels(ConstRows x, const RowPartition& partition, const float* sums,
                     std::size_t begin, std::size_t end, float* mean, float* variance) {
  double totals[RowPartition::kChannelsTogether] = {};
  double squares[RowPartition::kChannelsTogether] = {};
  const float* const origin = x.data + begin;
  std::size_t row = 0;
  for (std::size_t chunk = 0; chunk < partition.chunks(); ++chunk) {
    const auto n = static_cast<double>(partition.rows_of(chunk));
    const double one_over_n = 1 / n;
    const float* const first = x.row(row) + begin;
    const float* const sum = sums + chunk * 2 * x.channels + begin;
    const float* const square = sum + x.channels;
    for (std::size_t i = 0; i < end - begin; ++i) {
      const auto s = static_cast<double>(sum[i]);
      const double centre =
          (static_cast<double>(first[i]) - static_cast<double>(origin[i])) + s * one_over_n;
      totals[i] += n * centre;
      squares[i] += static_cast<double>(square[i]) - s * s * one_over_n + n * centre * centre;
    }
    row += partition.rows_of(chunk);
  }
  const auto rows = static_cast<double>(x.rows);
  for (std::size_t i = 0; i < end - begin; ++i) {
    const double centre = totals[i] / rows;
    const double v = squares[i] / rows - centre * centre;
    mean[begin + i] = static_cast<float>(static_cast<double>(origin[i]) + centre);
    // Rounding may leave less than nothing, but a NaN must stay one.
    variance[begin + i] = v < 0 ? 0.0F : static_cast<float>(v);
  }
}

}  // namespace

std::size_t BatchNormScratchFloats(std::size_t rows, std::size_t channels) {
  return RowPartition(rows, channels).chunks() * 2 * channels;
}

void BatchMeanVariance(ConstRows x, std::span<float> mean, std::span<float> variance,
                       std::span<float> scratch, Parallel& parallel, Target target) {
  SHOAL_CHECK_GT(x.rows, std::size_t{0});
  SHOAL_CHECK_EQ(mean.size(), x.channels);
  SHOAL_CHECK_EQ(variance.size(), x.channels);
  SHOAL_CHECK_GE(scratch.size(), BatchNormScratchFloats(x.rows, x.channels));
  const RowPartition partition(x.rows, x.channels);
  SumsKernel* const kernel = Choose<SumsKernel>(kSumsTable, target);
  partition.Run(parallel, [&](const RowPartition::Block& block) {
    kernel(x, block, scratch.data() + block.chunk * 2 * x.channels + block.channel_begin);
  });
  partition.RunChannels(parallel, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; c += RowPartition::kChannelsTogether) {
      CombineChannels(x, partition, scratch.data(), c,
                      std::min(end, c + RowPartition::kChannelsTogether), mean.data(),
                      variance.data());
    }
  });
}

void BatchNormFactors(std::span<const float> mean, std::span<const float> variance, float epsilon,
                      std::span<const float> gamma, std::span<const float> beta,
                      std::span<float> inv_std, std::span<float> scale, std::span<float> shift) {
  for (std::size_t c = 0; c < mean.size(); ++c) {
    const double inverse =
        1 / std::sqrt(static_cast<double>(variance[c]) + static_cast<double>(epsilon));
    const double factor = inverse * (gamma.empty() ? 1.0 : static_cast<double>(gamma[c]));
    const double offset = beta.empty() ? 0.0 : static_cast<double>(beta[c]);
    inv_std[c] = static_cast<float>(inverse);
    scale[c] = static_cast<float>(factor);
    shift[c] = static_cast<float>(offset - static_cast<double>(mean[c]) * factor);
  }
}

void BatchNormApply(ConstRows x, std::span<const float> scale, std::span<const float> shift,
                    ConstRows residual, bool relu, Rows y, Parallel& parallel, Target target) {
  CheckSameShape(x, y);
  CheckSameShape(residual, y);
  SHOAL_CHECK_EQ(scale.size(), x.channels);
  SHOAL_CHECK_EQ(shift.size(), x.channels);
  ApplyKernel* const kernel = Choose<ApplyKernel>(kApplyTable, target);
  ForChunks(x.rows, RowsPerTask(x.channels), parallel, [&](std::size_t begin, std::size_t end) {
    kernel(x, scale.data(), shift.data(), residual, relu, y, begin, end);
  });
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
