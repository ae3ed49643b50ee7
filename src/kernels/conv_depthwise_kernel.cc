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

}  // namespace

DepthwiseKernel VectorDepthwiseKernel() {
  return {.pixel = &Pixel, .weight_pixel = &WeightPixel, .add = &AddRow};
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

DepthwiseKernel RefKernel() {
  return {.pixel = &RefPixel, .weight_pixel = &RefWeightPixel, .add = &RefAdd};
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
