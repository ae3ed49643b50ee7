#include "kernels/winograd_kernel.h"

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/winograd_kernel.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <span>

#include "kernels/lanes-inl.h"
#include "kernels/scalar_lanes.h"
#include "kernels/winograd_transform-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {

template <class L, class T>
HWY_INLINE void SpreadVector(const float* const* pixels, std::size_t channel, float* to,
                             std::size_t position_stride) {
  TransformSquare<L, T>([=](std::size_t i) HWY_ATTR { return L::Load(pixels[i] + channel); },
                        [=](std::size_t i, typename L::F value)
                            HWY_ATTR { L::Store(value, to + i * position_stride); });
}

// The last, partial vector of channels.
template <class L, class T>
void SpreadRest(const float* const* pixels, std::size_t channel, std::size_t count, float* to,
                std::size_t position_stride) {
  TransformSquare<L, T>([=](std::size_t i)
                            HWY_ATTR { return L::LoadSome(pixels[i] + channel, count, 0.0F); },
                        [=](std::size_t i, typename L::F value)
                            HWY_ATTR { L::Store(value, to + i * position_stride); });
}

template <class L, class T>
void Spread(const float* const* pixels, std::size_t channels, const WinogradPanels& to) {
  float* panel = to.data;
  for (std::size_t begin = 0; begin < channels; begin += to.panel_columns) {
    const std::size_t end = std::min(channels, begin + to.panel_columns);
    std::size_t c = begin;
    for (; c + L::kLanes <= end; c += L::kLanes) {
      SpreadVector<L, T>(pixels, c, panel + (c - begin), to.position_stride);
    }
    if (c < end) SpreadRest<L, T>(pixels, c, end - c, panel + (c - begin), to.position_stride);
    panel += to.panel_stride;
  }
}

template <class L>
HWY_INLINE typename L::F Finish(typename L::F value, bool relu) {
  const typename L::F zero = L::Set(0.0F);
  return relu ? L::Select(value < zero, zero, value) : value;
}

template <class L, class T>
HWY_INLINE void GatherVector(const float* from, std::size_t position_stride, std::size_t channel,
                             float* const* pixels, const WinogradEnd& end) {
  const bool accumulate = end.accumulate;
  const bool relu = end.relu;
  const typename L::F bias = end.bias == nullptr ? L::Set(0.0F) : L::Load(end.bias + channel);
  TransformSquare<L, T>([=](std::size_t i) HWY_ATTR { return L::Load(from + i * position_stride); },
                        [=](std::size_t i, typename L::F value) HWY_ATTR {
                          float* to = pixels[i] + channel;
                          value = value + bias;
                          if (accumulate) value = value + L::Load(to);
                          L::Store(Finish<L>(value, relu), to);
                        });
}

template <class L, class T>
void GatherRest(const float* from, std::size_t position_stride, std::size_t channel,
                std::size_t count, float* const* pixels, const WinogradEnd& end) {
  const typename L::F bias =
      end.bias == nullptr ? L::Set(0.0F) : L::LoadSome(end.bias + channel, count, 0.0F);
  TransformSquare<L, T>([=](std::size_t i) HWY_ATTR { return L::Load(from + i * position_stride); },
                        [=](std::size_t i, typename L::F value) HWY_ATTR {
                          float* to = pixels[i] + channel;
                          value = value + bias;
                          if (end.accumulate) value = value + L::LoadSome(to, count, 0.0F);
                          L::StoreSome(Finish<L>(value, end.relu), to, count);
                        });
}

template <class L, class T>
void Gather(const float* positions, std::size_t position_stride, std::size_t channels,
            float* const* pixels, const WinogradEnd& end) {
  std::size_t c = 0;
  for (; c + L::kLanes <= channels; c += L::kLanes) {
    GatherVector<L, T>(positions + c, position_stride, c, pixels, end);
  }
  if (c < channels) {
    GatherRest<L, T>(positions + c, position_stride, c, channels - c, pixels, end);
  }
}

template <class L, class W>
constexpr WinogradKernel MakeWinogradKernel() {
  return {.lanes = L::kLanes,
          .input = &Spread<L, typename W::Input>,
          .weights = &Spread<L, typename W::Weights>,
          .output = &Gather<L, typename W::Output>,
          .output_grad = &Spread<L, typename W::OutputGradient>,
          .weights_grad = &Gather<L, typename W::WeightsGradient>};
}

#if SHOAL_SIMD
static_assert(VectorF32::kLanes <= kWinogradLanesMax);
WinogradKernel F2Kernel() { return MakeWinogradKernel<VectorF32, WinogradF2>(); }
WinogradKernel F4Kernel() { return MakeWinogradKernel<VectorF32, WinogradF4>(); }
#endif

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::kernels {
namespace {

// One channel at a time.
struct OneLane : ScalarF32 {
  static constexpr std::size_t kLanes = 1;
  static float Load(const float* from) { return *from; }
  static void Store(float value, float* to) { *to = value; }
  static float LoadSome(const float* from, std::size_t, float) { return *from; }
  static void StoreSome(float value, float* to, std::size_t) { *to = value; }
};

WinogradKernel RefF2Kernel() {
  return HWY_NAMESPACE::MakeWinogradKernel<OneLane, HWY_NAMESPACE::WinogradF2>();
}
WinogradKernel RefF4Kernel() {
  return HWY_NAMESPACE::MakeWinogradKernel<OneLane, HWY_NAMESPACE::WinogradF4>();
}

}  // namespace

WinogradKernel ChooseWinogradKernel(std::size_t side, Target target) {
  using Factory = WinogradKernel();
  static constexpr Implementation<Factory> kF2[] = {
      SHOAL_SIMD_ROWS(Factory, F2Kernel){Target::kRef, &RefF2Kernel}};
  static constexpr Implementation<Factory> kF4[] = {
      SHOAL_SIMD_ROWS(Factory, F4Kernel){Target::kRef, &RefF4Kernel}};
  SHOAL_CHECK(side == 2 || side == 4);
  return Choose(std::span<const Implementation<Factory>>(side == 2 ? kF2 : kF4), target)();
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
