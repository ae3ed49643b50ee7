#include "kernels/conv_depthwise_kernel.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_depthwise_kernel.cc"
#include "kernels/simd_targets.h"
// clang-format off: this file is included again by foreach_target.h, once per target.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "kernels/lanes-inl.h"

#if SHOAL_SIMD
HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

using V = VectorF32;
using Vector = V::F;

// A vector of channels, or those that are left of them.
struct Whole {
  static constexpr std::size_t kCount = V::kLanes;
  HWY_INLINE Vector Load(const float* from) const { return V::Load(from); }
  HWY_INLINE void Store(Vector value, float* to) const { V::Store(value, to); }
};
struct Some {
  std::size_t count;
  HWY_INLINE Vector Load(const float* from) const { return V::LoadSome(from, count, 0.0F); }
  HWY_INLINE void Store(Vector value, float* to) const { V::StoreSome(value, to, count); }
};

// body(first channel, Whole or Some)
template <class Body>
HWY_INLINE void ForChannels(std::size_t channels, const Body& body) {
  std::size_t c = 0;
  for (; c + V::kLanes <= channels; c += V::kLanes) body(c, Whole());
  if (c < channels) body(c, Some{channels - c});
}

template <class Part>
HWY_INLINE void Finish(Vector sum, const DepthwiseEnd& end, std::size_t c, const Part& part,
                       float* out) {
  if (end.accumulate) sum = hn::Add(part.Load(out + c), sum);
  if (end.bias != nullptr) sum = hn::Add(sum, part.Load(end.bias + c));
  if (end.relu) sum = hn::IfThenZeroElse(hn::Lt(sum, hn::Zero(V::D())), sum);
  part.Store(sum, out + c);
}

void Pixel(std::span<const DepthwiseTap> taps, std::size_t channels, const DepthwiseEnd& end,
           float* out) {
  ForChannels(channels, [&](std::size_t c, const auto& part) HWY_ATTR {
    Vector sum = hn::Zero(V::D());
    for (const DepthwiseTap& tap : taps) {
      sum = hn::MulAdd(part.Load(tap.x + c), part.Load(tap.w + c), sum);
    }
    Finish(sum, end, c, part, out);
  });
}

void WeightPixel(std::span<const DepthwiseWeightTap> taps, const float* dy, std::size_t channels) {
  ForChannels(channels, [&](std::size_t c, const auto& part) HWY_ATTR {
    const Vector gradient = part.Load(dy + c);
    for (const DepthwiseWeightTap& tap : taps) {
      part.Store(hn::MulAdd(part.Load(tap.x + c), gradient, part.Load(tap.dw + c)), tap.dw + c);
    }
  });
}

void AddRow(const float* x, std::size_t channels, float* sum) {
  ForChannels(channels, [&](std::size_t c, const auto& part) HWY_ATTR {
    part.Store(hn::Add(part.Load(sum + c), part.Load(x + c)), sum + c);
  });
}

// kCount pixels at once: a weight is loaded once for them, and what their patches share too.
// Channels run innermost, so that memory is read in order.
template <std::size_t kTaps, std::size_t kStep, std::size_t kCount>
HWY_INLINE void RunPixels(const DepthwiseRun& run, std::size_t first, const DepthwiseEnd& end) {
  ForChannels(run.channels, [&](std::size_t c, const auto& part) HWY_ATTR {
    Vector sum[kCount];
    HWY_UNROLL(4)
    for (std::size_t i = 0; i < kCount; ++i) sum[i] = hn::Zero(V::D());
    for (const DepthwiseTap& row : run.rows) {
      const float* x = row.x + first * kStep * run.x_stride + c;
      HWY_UNROLL(3)
      for (std::size_t t = 0; t < kTaps; ++t) {
        const Vector w = part.Load(row.w + static_cast<std::ptrdiff_t>(t) * run.w_stride + c);
        HWY_UNROLL(4)
        for (std::size_t i = 0; i < kCount; ++i) {
          sum[i] = hn::MulAdd(part.Load(x + (i * kStep + t) * run.x_stride), w, sum[i]);
        }
      }
    }
    HWY_UNROLL(4)
    for (std::size_t i = 0; i < kCount; ++i) {
      Finish(sum[i], end, c, part, run.out + (first + i) * run.out_stride);
    }
  });
}

template <std::size_t kTaps, std::size_t kStep>
void Run(const DepthwiseRun& run, const DepthwiseEnd& end) {
  std::size_t i = 0;
  for (; i + 4 <= run.count; i += 4) RunPixels<kTaps, kStep, 4>(run, i, end);
  for (; i < run.count; ++i) RunPixels<kTaps, kStep, 1>(run, i, end);
}

template <std::size_t kTaps, std::size_t kStep, std::size_t kCount>
HWY_INLINE void WeightRunPixels(const DepthwiseWeightRun& run, std::size_t first) {
  const float* dy = run.dy + first * run.dy_stride;
  ForChannels(run.channels, [&](std::size_t c, const auto& part) HWY_ATTR {
    Vector gradient[kCount];
    HWY_UNROLL(4)
    for (std::size_t i = 0; i < kCount; ++i) gradient[i] = part.Load(dy + i * run.dy_stride + c);
    for (const DepthwiseWeightTap& row : run.rows) {
      const float* x = row.x + first * kStep * run.x_stride + c;
      HWY_UNROLL(3)
      for (std::size_t t = 0; t < kTaps; ++t) {
        float* dw = row.dw + t * run.dw_stride + c;
        Vector sum = part.Load(dw);
        HWY_UNROLL(4)
        for (std::size_t i = 0; i < kCount; ++i) {
          sum = hn::MulAdd(part.Load(x + (i * kStep + t) * run.x_stride), gradient[i], sum);
        }
        part.Store(sum, dw);
      }
    }
  });
}

template <std::size_t kTaps, std::size_t kStep>
void WeightRun(const DepthwiseWeightRun& run) {
  std::size_t i = 0;
  for (; i + 4 <= run.count; i += 4) WeightRunPixels<kTaps, kStep, 4>(run, i);
  for (; i < run.count; ++i) WeightRunPixels<kTaps, kStep, 1>(run, i);
}

// Rows of 3 are nearly all there is; 1 and 2 are phases of a backward pass of stride 2.
DepthwiseRunFunction* FindRun(std::size_t taps, std::size_t step) {
  if (step == 1 && taps == 1) return &Run<1, 1>;
  if (step == 1 && taps == 2) return &Run<2, 1>;
  if (step == 1 && taps == 3) return &Run<3, 1>;
  if (step == 2 && taps == 3) return &Run<3, 2>;
  return nullptr;
}

DepthwiseWeightRunFunction* FindWeightRun(std::size_t taps, std::size_t step) {
  if (step == 1 && taps == 3) return &WeightRun<3, 1>;
  if (step == 2 && taps == 3) return &WeightRun<3, 2>;
  return nullptr;
}

}  // namespace

DepthwiseKernel VectorDepthwiseKernel() {
  return {.pixel = &Pixel,
          .weight_pixel = &WeightPixel,
          .add = &AddRow,
          .run = &FindRun,
          .weight_run = &FindWeightRun};
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace shoal::kernels {
namespace {

void RefPixel(std::span<const DepthwiseTap> taps, std::size_t channels, const DepthwiseEnd& end,
              float* out) {
  for (std::size_t c = 0; c < channels; ++c) {
    float sum = 0;
    for (const DepthwiseTap& tap : taps) sum = std::fma(tap.x[c], tap.w[c], sum);
    if (end.accumulate) sum = out[c] + sum;
    if (end.bias != nullptr) sum += end.bias[c];
    out[c] = end.relu && sum < 0 ? 0 : sum;
  }
}

void RefWeightPixel(std::span<const DepthwiseWeightTap> taps, const float* dy,
                    std::size_t channels) {
  for (const DepthwiseWeightTap& tap : taps) {
    for (std::size_t c = 0; c < channels; ++c) tap.dw[c] = std::fma(tap.x[c], dy[c], tap.dw[c]);
  }
}

void RefAdd(const float* x, std::size_t channels, float* sum) {
  for (std::size_t c = 0; c < channels; ++c) sum[c] += x[c];
}

// Pixel by pixel gives the same bits.
DepthwiseKernel RefKernel() {
  return {.pixel = &RefPixel,
          .weight_pixel = &RefWeightPixel,
          .add = &RefAdd,
          .run = [](std::size_t, std::size_t) -> DepthwiseRunFunction* { return nullptr; },
          .weight_run = [](std::size_t, std::size_t) -> DepthwiseWeightRunFunction* {
            return nullptr;
          }};
}

}  // namespace

DepthwiseKernel ChooseDepthwiseKernel(Target target) {
  static constexpr Implementation<DepthwiseKernel()> kTable[] = {
      SHOAL_SIMD_ROWS(DepthwiseKernel(), VectorDepthwiseKernel){Target::kRef, &RefKernel},
  };
  return Choose(std::span<const Implementation<DepthwiseKernel()>>(kTable), target)();
}

}  // namespace shoal::kernels
#endif
