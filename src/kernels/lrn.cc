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

#include "kernels/chunks.h"
#include "kernels/lrn-inl.h"
#include "kernels/rows-inl.h"

#ifndef SHOAL_KERNELS_LRN_ARGS
#define SHOAL_KERNELS_LRN_ARGS
namespace shoal::kernels {
namespace {

// Channels are worked on in blocks, and several rows at a time if they are short: a vector of
// squares is loaded again, shifted, long after it was stored, for the CPU forwards no parts of two
// stores to one load.
constexpr std::size_t kBlock = 512;
constexpr std::size_t kRowsMax = 4;
constexpr std::size_t kHalfMax = kLrnSizeMax / 2;
constexpr std::size_t kLanesMax = 16;  // What loads and stores may touch beyond.
constexpr std::size_t kRoom = kBlock + kRowsMax * (4 * kHalfMax + 2 * kLanesMax);

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

// A block of channels with `halo` more on either side, of which `before` and `after` do not exist.
struct HaloRange {
  std::size_t first;  // The first channel that exists,
  std::size_t count;  // and how many do.
  std::size_t before;
  std::size_t after;
};
HaloRange WithHalo(std::size_t channels, std::size_t begin, std::size_t count, std::size_t halo) {
  const std::size_t first = begin > halo ? begin - halo : 0;
  const std::size_t last = std::min(channels, begin + count + halo);
  return {first, last - first, first + halo - begin, begin + count + halo - last};
}

}  // namespace
}  // namespace shoal::kernels
#endif  // SHOAL_KERNELS_LRN_ARGS

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

// The sum of x[0 … size) in each lane; kSize is `size` or 0 for any.
template <class L, std::size_t kSize>
HWY_INLINE typename L::F WindowSum(const float* x, std::size_t size) {
  typename L::F sum = L::Load(x);
  for (std::size_t i = 1; i < (kSize == 0 ? size : kSize); ++i) sum = sum + L::Load(x + i);
  return sum;
}

template <class L>
HWY_INLINE void StoreZeros(float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; i += L::kLanes) L::Store(L::Set(0.0F), to + i);
}

// to = the channels of `range`, each put through value(channel, lanes), between zeros for those
// that do not exist (and a vector more).
template <class L, class Value>
HWY_INLINE void FillWithHalo(const HaloRange& range, float* to, const Value& value) {
  StoreZeros<L>(to, range.before);
  AlongRow<L>(range.count, [&](std::size_t i, auto lanes) SHOAL_LAMBDA {
    L::Store(value(range.first + i, range.before + i, lanes), to + range.before + i);
  });
  StoreZeros<L>(to + range.before + range.count, range.after + L::kLanes);
}

template <class L>
HWY_INLINE void FillSquares(const HaloRange& range, const float* x, float* to) {
  FillWithHalo<L>(range, to, [&](std::size_t c, std::size_t, auto lanes) SHOAL_LAMBDA {
    const auto v = lanes.Load(x + c);
    return v * v;
  });
}

// Calls body(first row, rows, first channel, channels, floats per row of scratch).
template <class Body>
HWY_INLINE void ForBlocks(std::size_t channels, std::size_t half, std::size_t begin,
                          std::size_t end, const Body& body) {
  const std::size_t together = std::clamp<std::size_t>(kBlock / channels, 1, kRowsMax);
  for (std::size_t row = begin; row < end; row += together) {
    const std::size_t rows = std::min(together, end - row);
    for (std::size_t c = 0; c < channels; c += kBlock) {
      const std::size_t count = std::min(kBlock, channels - c);
      body(row, rows, c, count, count + 4 * half + 2 * kLanesMax);
    }
  }
}

template <class L, bool kThreeQuarters, std::size_t kSize>
HWY_INLINE void NormaliseRows(const LrnArgs& args, std::size_t begin, std::size_t end) {
  using F = typename L::F;
  const std::size_t size = args.params.size;
  const std::size_t half = size / 2;
  const F minus_beta = L::Set(-args.params.beta);
  const F k = L::Set(args.params.k);
  const F factor = L::Set(args.params.alpha / static_cast<float>(size));
  float squares[kRoom];
  const auto block = [&](std::size_t first, std::size_t rows, std::size_t channel,
                         std::size_t count, std::size_t room) SHOAL_LAMBDA {
    const HaloRange around = WithHalo(args.x.channels, channel, count, half);
    for (std::size_t i = 0; i < rows; ++i) {
      FillSquares<L>(around, args.x.row(first + i), squares + i * room);
    }
    for (std::size_t i = 0; i < rows; ++i) {
      const float* const x = args.x.row(first + i) + channel;
      float* const y = args.y.row(first + i) + channel;
      AlongRow<L>(count, [&](std::size_t c, auto lanes) SHOAL_LAMBDA {
        const F scale = L::Fma(factor, WindowSum<L, kSize>(squares + i * room + c, size), k);
        lanes.Store(lanes.Load(x + c) * PowersOf<L, kThreeQuarters>(scale, minus_beta).power,
                    y + c);
      });
    }
  };
  ForBlocks(args.x.channels, half, begin, end, block);
}

// dx = dy * p - 2 alpha beta / size * x * (the window's sum of dy * x * p / scale), p =
// scale^-beta. The ratios that are summed are needed half a window beyond the block, their scales
// another half.
template <class L, bool kThreeQuarters, std::size_t kSize>
HWY_INLINE void GradientOfRows(const LrnBackwardArgs& args, std::size_t begin, std::size_t end) {
  using F = typename L::F;
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
  const auto block = [&](std::size_t first, std::size_t rows, std::size_t channel,
                         std::size_t count, std::size_t room) SHOAL_LAMBDA {
    const HaloRange around = WithHalo(args.x.channels, channel, count, half);
    const HaloRange wide = WithHalo(args.x.channels, channel, count, 2 * half);
    for (std::size_t i = 0; i < rows; ++i) {
      FillSquares<L>(wide, args.x.row(first + i), squares + i * room);
    }
    for (std::size_t i = 0; i < rows; ++i) {
      const float* const x = args.x.row(first + i);
      const float* const dy = args.dy.row(first + i);
      FillWithHalo<L>(
          around, ratios + i * room, [&](std::size_t c, std::size_t at, auto lanes) SHOAL_LAMBDA {
            const std::size_t place = i * room + at;
            const F sum = WindowSum<L, kSize>(squares + place, size);
            const Powers<L> p = PowersOf<L, kThreeQuarters>(L::Fma(factor, sum, k), minus_beta);
            L::Store(p.power, powers + place);
            return lanes.Load(dy + c) * lanes.Load(x + c) * p.quotient;
          });
    }
    for (std::size_t i = 0; i < rows; ++i) {
      const float* const x = args.x.row(first + i) + channel;
      const float* const dy = args.dy.row(first + i) + channel;
      float* const dx = args.dx.row(first + i) + channel;
      AlongRow<L>(count, [&](std::size_t c, auto lanes) SHOAL_LAMBDA {
        const F sum = WindowSum<L, kSize>(ratios + i * room + c, size);
        F d = lanes.Load(dy + c) * L::Load(powers + i * room + half + c);
        d = L::Fma(minus * lanes.Load(x + c), sum, d);
        if (args.accumulate) d = d + lanes.Load(dx + c);
        lanes.Store(d, dx + c);
      });
    }
  };
  ForBlocks(args.x.channels, half, begin, end, block);
}

template <class L>
HWY_INLINE void Normalise(const LrnArgs& args, std::size_t begin, std::size_t end) {
  WithConditions(
      [&](auto three_quarters, auto five)
          SHOAL_LAMBDA { NormaliseRows<L, three_quarters, five ? 5 : 0>(args, begin, end); },
      args.params.beta == 0.75F, args.params.size == 5);
}

template <class L>
HWY_INLINE void Gradient(const LrnBackwardArgs& args, std::size_t begin, std::size_t end) {
  WithConditions(
      [&](auto three_quarters, auto five)
          SHOAL_LAMBDA { GradientOfRows<L, three_quarters, five ? 5 : 0>(args, begin, end); },
      args.params.beta == 0.75F, args.params.size == 5);
}

}  // namespace

#if SHOAL_SIMD
void SimdNormalise(const LrnArgs& args, std::size_t begin, std::size_t end) {
  Normalise<VectorPower>(args, begin, end);
}
void SimdGradient(const LrnBackwardArgs& args, std::size_t begin, std::size_t end) {
  Gradient<VectorPower>(args, begin, end);
}
#endif  // SHOAL_SIMD
#if HWY_ONCE
void RefNormalise(const LrnArgs& args, std::size_t begin, std::size_t end) {
  Normalise<ScalarPower>(args, begin, end);
}
void RefGradient(const LrnBackwardArgs& args, std::size_t begin, std::size_t end) {
  Gradient<ScalarPower>(args, begin, end);
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
