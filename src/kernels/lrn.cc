#include "kernels/lrn.h"

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/lrn.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "kernels/chunks.h"
#include "kernels/lrn-inl.h"
#include "kernels/rows-inl.h"

#ifndef SHOAL_KERNELS_LRN_ARGS
#define SHOAL_KERNELS_LRN_ARGS
namespace shoal::kernels {
namespace {

// Channels are worked on in blocks, copied to where the neighbours of the first and the last
// channel are zeros. Rows of networks with this layer fit one block.
constexpr std::size_t kBlock = 512;
constexpr std::size_t kHalfMax = kLrnSizeMax / 2;
constexpr std::size_t kLanesMax = 16;  // What loads may read beyond.
constexpr std::size_t kRoom = kBlock + 4 * kHalfMax + kLanesMax;

struct LrnArgs {
  const LrnParams& params;
  ConstRows x;
  Rows y;
};

struct LrnBackwardArgs {
  const LrnParams& params;
  ConstRows x;
  ConstRows dy;
  Rows dx;
  bool accumulate;
};

// to[i] = row[begin - halo + i] for i < count + 2 * halo, and zeros where the row has no such
// channel and up to a vector beyond.
void CopyWithHalo(const float* row, std::size_t channels, std::size_t begin, std::size_t count,
                  std::size_t halo, float* to) {
  const std::size_t first = begin > halo ? begin - halo : 0;
  const std::size_t last = std::min(channels, begin + count + halo);
  const std::size_t before = halo + first - begin;
  std::memset(to, 0, before * sizeof(float));
  std::memcpy(to + before, row + first, (last - first) * sizeof(float));
  const std::size_t filled = before + (last - first);
  std::memset(to + filled, 0, (count + 2 * halo + kLanesMax - filled) * sizeof(float));
}

}  // namespace
}  // namespace shoal::kernels
#endif  // SHOAL_KERNELS_LRN_ARGS

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

// The sum of x[0 … size) in each lane.
template <class L>
HWY_INLINE typename L::F WindowSum(const float* x, std::size_t size) {
  typename L::F sum = L::Load(x);
  for (std::size_t i = 1; i < size; ++i) sum = sum + L::Load(x + i);
  return sum;
}

// Whole vectors over scratch, which has room for the last one.
template <class L, class Body>
HWY_INLINE void AlongScratch(std::size_t count, const Body& body) {
  for (std::size_t i = 0; i < count; i += L::kLanes) body(i);
}

template <class L, bool kThreeQuarters>
HWY_INLINE void NormaliseRow(const LrnArgs& args, const float* x, float* y) {
  using F = typename L::F;
  const std::size_t size = args.params.size;
  const std::size_t half = size / 2;
  const F minus_beta = L::Set(-args.params.beta);
  const F k = L::Set(args.params.k);
  const F factor = L::Set(args.params.alpha / static_cast<float>(size));
  float squares[kRoom];
  for (std::size_t begin = 0; begin < args.x.channels; begin += kBlock) {
    const std::size_t count = std::min(kBlock, args.x.channels - begin);
    CopyWithHalo(x, args.x.channels, begin, count, half, squares);
    AlongScratch<L>(count + 2 * half, [&](std::size_t i) SHOAL_LAMBDA {
      const F v = L::Load(squares + i);
      L::Store(v * v, squares + i);
    });
    AlongRow<L>(count, [&](std::size_t c, auto lanes) SHOAL_LAMBDA {
      const F scale = L::Fma(factor, WindowSum<L>(squares + c, size), k);
      const F power = MinusPower<L, kThreeQuarters>(scale, minus_beta);
      lanes.Store(lanes.Load(x + begin + c) * power, y + begin + c);
    });
  }
}

// dx = dy * p - 2 alpha beta / size * x * (the window's sum of dy * x * p / scale), p =
// scale^-beta. The ratios are needed half a window beyond the block, their scales another half.
template <class L, bool kThreeQuarters>
HWY_INLINE void GradientOfRow(const LrnBackwardArgs& args, const float* x, const float* dy,
                              float* dx) {
  using F = typename L::F;
  const std::size_t channels = args.x.channels;
  const std::size_t size = args.params.size;
  const std::size_t half = size / 2;
  const F minus_beta = L::Set(-args.params.beta);
  const F k = L::Set(args.params.k);
  const float alpha = args.params.alpha / static_cast<float>(size);
  const F factor = L::Set(alpha);
  const F minus = L::Set(-2 * alpha * args.params.beta);
  float squares[kRoom];
  float powers[kRoom];
  float ratios[kRoom];
  for (std::size_t begin = 0; begin < channels; begin += kBlock) {
    const std::size_t count = std::min(kBlock, channels - begin);
    CopyWithHalo(x, channels, begin, count, 2 * half, squares);
    CopyWithHalo(x, channels, begin, count, half, powers);
    CopyWithHalo(dy, channels, begin, count, half, ratios);
    AlongScratch<L>(count + 4 * half, [&](std::size_t i) SHOAL_LAMBDA {
      const F v = L::Load(squares + i);
      L::Store(v * v, squares + i);
    });
    AlongScratch<L>(count + 2 * half, [&](std::size_t i) SHOAL_LAMBDA {
      const F scale = L::Fma(factor, WindowSum<L>(squares + i, size), k);
      const F power = MinusPower<L, kThreeQuarters>(scale, minus_beta);
      const F d = L::Load(ratios + i);
      const F ratio = d * (L::Load(powers + i) * power / scale);
      // No ratio where there is no channel, whatever k.
      L::Store(L::Select(d == L::Set(0.0F), d, ratio), ratios + i);
      L::Store(power, powers + i);
    });
    AlongRow<L>(count, [&](std::size_t c, auto lanes) SHOAL_LAMBDA {
      const F sum = WindowSum<L>(ratios + c, size);
      F d = lanes.Load(dy + begin + c) * L::Load(powers + half + c);
      d = L::Fma(minus * lanes.Load(x + begin + c), sum, d);
      if (args.accumulate) d = d + lanes.Load(dx + begin + c);
      lanes.Store(d, dx + begin + c);
    });
  }
}

template <class L>
HWY_INLINE void Normalise(const LrnArgs& args, std::size_t begin, std::size_t end) {
  WithConditions(
      [&](auto three_quarters) SHOAL_LAMBDA {
        for (std::size_t row = begin; row < end; ++row) {
          NormaliseRow<L, three_quarters>(args, args.x.row(row), args.y.row(row));
        }
      },
      args.params.beta == 0.75F);
}

template <class L>
HWY_INLINE void Gradient(const LrnBackwardArgs& args, std::size_t begin, std::size_t end) {
  WithConditions(
      [&](auto three_quarters) SHOAL_LAMBDA {
        for (std::size_t row = begin; row < end; ++row) {
          GradientOfRow<L, three_quarters>(args, args.x.row(row), args.dy.row(row),
                                           args.dx.row(row));
        }
      },
      args.params.beta == 0.75F);
}

}  // namespace

#if SHOAL_SIMD
void SimdNormalise(const LrnArgs& args, std::size_t begin, std::size_t end) {
  Normalise<VectorRow>(args, begin, end);
}
void SimdGradient(const LrnBackwardArgs& args, std::size_t begin, std::size_t end) {
  Gradient<VectorRow>(args, begin, end);
}
#endif  // SHOAL_SIMD
#if HWY_ONCE
void RefNormalise(const LrnArgs& args, std::size_t begin, std::size_t end) {
  Normalise<ScalarRow>(args, begin, end);
}
void RefGradient(const LrnBackwardArgs& args, std::size_t begin, std::size_t end) {
  Gradient<ScalarRow>(args, begin, end);
}
#endif  // HWY_ONCE

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::kernels {
namespace {

using NormaliseKernel = void(const LrnArgs&, std::size_t, std::size_t);
using GradientKernel = void(const LrnBackwardArgs&, std::size_t, std::size_t);
constexpr Implementation<NormaliseKernel> kNormaliseTable[] = {
    SHOAL_SIMD_ROWS(NormaliseKernel, SimdNormalise){Target::kRef, &HWY_NAMESPACE::RefNormalise}};
constexpr Implementation<GradientKernel> kGradientTable[] = {
    SHOAL_SIMD_ROWS(GradientKernel, SimdGradient){Target::kRef, &HWY_NAMESPACE::RefGradient}};

void CheckParams(const LrnParams& params) {
  SHOAL_CHECK_EQ(params.size % 2, std::size_t{1});
  SHOAL_CHECK_LE(params.size, kLrnSizeMax);
}

}  // namespace

void LrnAcrossChannels(const LrnParams& params, ConstRows x, Rows y, Parallel& parallel,
                       Target target) {
  CheckParams(params);
  CheckSameShape(x, y);
  const LrnArgs args{params, x, y};
  NormaliseKernel* const kernel = Choose<NormaliseKernel>(kNormaliseTable, target);
  ForChunks(x.rows, RowsPerTask(x.channels), parallel,
            [&](std::size_t begin, std::size_t end) { kernel(args, begin, end); });
}

void LrnAcrossChannelsBackward(const LrnParams& params, ConstRows x, ConstRows dy, Rows dx,
                               bool accumulate, Parallel& parallel, Target target) {
  CheckParams(params);
  CheckSameShape(x, dx);
  CheckSameShape(dy, dx);
  const LrnBackwardArgs args{params, x, dy, dx, accumulate};
  GradientKernel* const kernel = Choose<GradientKernel>(kGradientTable, target);
  ForChunks(x.rows, RowsPerTask(x.channels), parallel,
            [&](std::size_t begin, std::size_t end) { kernel(args, begin, end); });
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
