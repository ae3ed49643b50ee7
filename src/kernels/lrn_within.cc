// Within a channel the layer is squares, an average pooling and a power: few networks have it, so
// it is built from the pooling's kernels and needs scratch.

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/lrn_within.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstddef>

#include "kernels/chunks.h"
#include "kernels/lrn-inl.h"
#include "kernels/lrn.h"
#include "kernels/pooling.h"
#include "kernels/row_ops.h"
#include "kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

// y = x * (1 + alpha * average)^-beta.
template <class L>
HWY_INLINE void Normalise(const LrnParams& params, ConstRows x, ConstRows average, Rows y,
                          std::size_t begin, std::size_t end) {
  using F = typename L::F;
  const F alpha = L::Set(params.alpha);
  const F minus_beta = L::Set(-params.beta);
  const F one = L::Set(1.0F);
  WithConditions(
      [&](auto three_quarters) SHOAL_LAMBDA {
        const auto normalise = [&](F value, F a) SHOAL_LAMBDA {
          return value * PowersOf<L, three_quarters>(L::Fma(alpha, a, one), minus_beta).power;
        };
        MapRows<L>(y, begin, end, normalise, x, average);
      },
      params.beta == 0.75F);
}

// The gradient by the average, which it overwrites: -alpha * beta * x * dy * scale^(-beta - 1).
template <class L>
HWY_INLINE void AverageGradient(const LrnParams& params, ConstRows x, ConstRows dy, Rows average,
                                std::size_t begin, std::size_t end) {
  using F = typename L::F;
  const F alpha = L::Set(params.alpha);
  const F factor = L::Set(-params.alpha * params.beta);
  const F minus_beta = L::Set(-params.beta);
  const F one = L::Set(1.0F);
  WithConditions(
      [&](auto three_quarters) SHOAL_LAMBDA {
        const auto gradient = [&](F value, F d, F a) SHOAL_LAMBDA {
          const F scale = L::Fma(alpha, a, one);
          return factor * value * d * PowersOf<L, three_quarters>(scale, minus_beta).quotient;
        };
        MapRows<L>(average, begin, end, gradient, x, dy, ConstRows(average));
      },
      params.beta == 0.75F);
}

}  // namespace

#if SHOAL_SIMD
void SimdNormalise(const LrnParams& params, ConstRows x, ConstRows average, Rows y,
                   std::size_t begin, std::size_t end) {
  Normalise<VectorPower>(params, x, average, y, begin, end);
}
void SimdAverageGradient(const LrnParams& params, ConstRows x, ConstRows dy, Rows average,
                         std::size_t begin, std::size_t end) {
  AverageGradient<VectorPower>(params, x, dy, average, begin, end);
}
#endif  // SHOAL_SIMD
#if HWY_ONCE
void RefNormalise(const LrnParams& params, ConstRows x, ConstRows average, Rows y,
                  std::size_t begin, std::size_t end) {
  Normalise<ScalarPower>(params, x, average, y, begin, end);
}
void RefAverageGradient(const LrnParams& params, ConstRows x, ConstRows dy, Rows average,
                        std::size_t begin, std::size_t end) {
  AverageGradient<ScalarPower>(params, x, dy, average, begin, end);
}
#endif  // HWY_ONCE

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::kernels {
namespace {

using Kernel = void(const LrnParams&, ConstRows, ConstRows, Rows, std::size_t, std::size_t);
constexpr Implementation<Kernel> kNormaliseTable[] = {
    SHOAL_SIMD_ROWS(Kernel, SimdNormalise){Target::kRef, &HWY_NAMESPACE::RefNormalise}};
constexpr Implementation<Kernel> kGradientTable[] = {
    SHOAL_SIMD_ROWS(Kernel, SimdAverageGradient){Target::kRef, &HWY_NAMESPACE::RefAverageGradient}};

void Run(Kernel* kernel, const LrnParams& params, ConstRows a, ConstRows b, Rows y,
         Parallel& parallel) {
  ForChunks(y.rows, RowsPerTask(y.channels), parallel,
            [&](std::size_t begin, std::size_t end) { kernel(params, a, b, y, begin, end); });
}

PoolShape WindowShape(const LrnParams& params, const LrnImages& images, std::size_t channels) {
  return {.batch = images.batch,
          .height = images.height,
          .width = images.width,
          .channels = channels,
          .kernel_h = params.size,
          .kernel_w = params.size,
          .pad_h = params.size / 2,
          .pad_w = params.size / 2,
          .out_height = images.height,
          .out_width = images.width};
}

void CheckWithin(const LrnParams& params, const LrnImages& images, ConstRows x,
                 std::span<float> scratch) {
  SHOAL_CHECK_EQ(params.size % 2, std::size_t{1});
  SHOAL_CHECK_EQ(x.rows, images.batch * images.height * images.width);
  SHOAL_CHECK_GE(scratch.size(), LrnWithinChannelScratchFloats(images, x.channels));
}

}  // namespace

std::size_t LrnWithinChannelScratchFloats(const LrnImages& images, std::size_t channels) {
  return 2 * images.batch * images.height * images.width * channels;
}

void LrnWithinChannel(const LrnParams& params, const LrnImages& images, ConstRows x, Rows y,
                      std::span<float> scratch, Parallel& parallel, Target target) {
  CheckWithin(params, images, x, scratch);
  const Rows squares{scratch.data(), x.rows, x.channels, x.channels};
  MultiplyRows(x, x, squares, false, parallel, target);
  AveragePool(WindowShape(params, images, x.channels), squares, y, parallel, target);
  Run(Choose<Kernel>(kNormaliseTable, target), params, x, y, y, parallel);
}

void LrnWithinChannelBackward(const LrnParams& params, const LrnImages& images, ConstRows x,
                              ConstRows dy, Rows dx, bool accumulate, std::span<float> scratch,
                              Parallel& parallel, Target target) {
  CheckWithin(params, images, x, scratch);
  const PoolShape shape = WindowShape(params, images, x.channels);
  const Rows first{scratch.data(), x.rows, x.channels, x.channels};
  const Rows average{scratch.data() + x.size(), x.rows, x.channels, x.channels};
  MultiplyRows(x, x, first, false, parallel, target);
  AveragePool(shape, first, average, parallel, target);
  // By the factor x, then by the average.
  Run(Choose<Kernel>(kNormaliseTable, target), params, dy, average, first, parallel);
  CombineRows(1, first, accumulate ? 1.0F : 0.0F, dx, parallel, target);
  Run(Choose<Kernel>(kGradientTable, target), params, x, dy, average, parallel);
  AveragePoolBackward(shape, average, first, false, parallel, target);
  CombineRows(1, first, 1, first, parallel, target);  // The derivative of the square: 2 x.
  MultiplyRows(x, first, dx, true, parallel, target);
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
