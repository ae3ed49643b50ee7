#include "kernels/depthwise_line_kernel.h"

#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/depthwise_line_kernel.cc"
#include "kernels/simd_targets.h"
// clang-format off: this file is included again by foreach_target.h, once per target.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "kernels/rows-inl.h"

#if SHOAL_SIMD
HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

using V = VectorRow;
using Vector = V::F;
constexpr std::size_t kBlock = kDepthwiseBlock;
static_assert(kBlock % V::kLanes == 0);

void Pack(const float* x, std::size_t stride, std::size_t count, std::size_t channels, float* out,
          std::size_t block_pitch) {
  for (std::size_t i = 0; i < count; ++i, x += stride, out += kBlock) {
    float* to = out;
    std::size_t c = 0;
    for (; c + kBlock <= channels; c += kBlock, to += block_pitch) {
      HWY_UNROLL(4)
      for (std::size_t v = 0; v < kBlock; v += V::kLanes) V::Store(V::Load(x + c + v), to + v);
    }
    if (c < channels) std::fill(std::copy_n(x + c, channels - c, to), to + kBlock, 0.0F);
  }
}

void Sum(const float* x, std::size_t count, float* sum) {
  for (std::size_t c = 0; c < kBlock; c += V::kLanes) {
    Vector total = V::Load(sum + c);
    for (std::size_t i = 0; i < count; ++i) total = hn::Add(total, V::Load(x + i * kBlock + c));
    V::Store(total, sum + c);
  }
}

// Calls body(row, tap, pixel, x) for the taps of kCount pixels side by side, each x loaded once for
// all pixels that read it. A pixel's taps come in their order.
template <std::size_t kRows, std::size_t kTaps, std::size_t kStep, std::size_t kCount, class Body>
HWY_INLINE void ForTaps(const DepthwiseRows& rows, std::size_t at, const Body& body) {
  HWY_UNROLL(3)
  for (std::size_t r = 0; r < kRows; ++r) {
    const float* const x = rows.x[r] + at;
    HWY_UNROLL(16)
    for (std::size_t column = 0; column < (kCount - 1) * kStep + kTaps; ++column) {
      const Vector value = V::Load(x + column * kBlock);
      HWY_UNROLL(4)
      for (std::size_t i = 0; i < kCount; ++i) {
        const std::size_t tap = column - i * kStep;  // Wraps if it is left of the pixel's.
        if (tap < kTaps) body(r, tap, i, value);
      }
    }
  }
}

// Calls pixels(first, constant count) for pixels [0, count), kGroup at a time while there are as
// many.
template <std::size_t kGroup, class Pixels>
HWY_INLINE void InGroups(std::size_t count, const Pixels& pixels) {
  std::size_t i = 0;
  for (; i + kGroup <= count; i += kGroup) {
    pixels(i, std::integral_constant<std::size_t, kGroup>());
  }
  if constexpr (kGroup > 1) {
    InGroups<kGroup / 2>(count - i,
                         [&](std::size_t rest, auto some) SHOAL_LAMBDA { pixels(i + rest, some); });
  }
}

// Bias and the rest, for one vector of channels.
template <class Lanes>
HWY_INLINE Vector Finish(Vector sum, const DepthwiseEnd& end, std::size_t c, Lanes lanes,
                         const float* out) {
  if (end.accumulate) sum = hn::Add(lanes.Load(out), sum);
  if (end.bias != nullptr) sum = hn::Add(sum, lanes.Load(end.bias + c));
  if (end.relu) sum = hn::IfThenZeroElse(hn::Lt(sum, hn::Zero(V::D())), sum);
  return sum;
}

template <std::size_t kRows, std::size_t kTaps, std::size_t kStep, bool kPlain>
HWY_INLINE void LineOf(const DepthwiseLine& line, const DepthwiseEnd& end) {
  InGroups<4>(line.count, [&](std::size_t first, auto count) SHOAL_LAMBDA {
    constexpr std::size_t kCount = decltype(count)::value;
    AlongRow<V>(line.channels, [&](std::size_t c, auto lanes) SHOAL_LAMBDA {
      Vector sum[kCount];
      HWY_UNROLL(4)
      for (std::size_t i = 0; i < kCount; ++i) sum[i] = hn::Zero(V::D());
      ForTaps<kRows, kTaps, kStep, kCount>(
          line.rows, first * kStep * kBlock + c,
          [&](std::size_t r, std::size_t tap, std::size_t i, Vector x) SHOAL_LAMBDA {
            sum[i] = hn::MulAdd(x, V::Load(line.w + (r * kTaps + tap) * kBlock + c), sum[i]);
          });
      float* out = line.out + first * line.out_stride + c;
      HWY_UNROLL(4)
      for (std::size_t i = 0; i < kCount; ++i, out += line.out_stride) {
        lanes.Store(kPlain ? sum[i] : Finish(sum[i], end, c, lanes, out), out);
      }
    });
  });
}

template <std::size_t kRows, std::size_t kTaps, std::size_t kStep>
HWY_INLINE void LineOfRows(const DepthwiseLine& line, const DepthwiseEnd& end) {
  if (end.bias == nullptr && !end.relu && !end.accumulate) {
    LineOf<kRows, kTaps, kStep, true>(line, end);
  } else {
    LineOf<kRows, kTaps, kStep, false>(line, end);
  }
}

template <std::size_t kTaps, std::size_t kStep>
void Line(const DepthwiseLine& line, const DepthwiseEnd& end) {
  if (line.rows.size == 3) return LineOfRows<3, kTaps, kStep>(line, end);
  if (line.rows.size == 2) return LineOfRows<2, kTaps, kStep>(line, end);
  if (line.rows.size == 1) return LineOfRows<1, kTaps, kStep>(line, end);
  return LineOfRows<0, kTaps, kStep>(line, end);
}

// The gradients stay in registers along the line.
template <std::size_t kRows, std::size_t kTaps, std::size_t kStep>
HWY_INLINE void WeightLineOf(const DepthwiseWeightLine& line) {
  for (std::size_t c = 0; c < kBlock; c += V::kLanes) {
    Vector dw[kRows * kTaps];
    HWY_UNROLL(9)
    for (std::size_t t = 0; t < kRows * kTaps; ++t) dw[t] = V::Load(line.dw + t * kBlock + c);
    for (std::size_t j = 0; j < line.count; ++j) {  // Two at once would not fit 16 registers.
      const Vector dy = V::Load(line.dy + j * kBlock + c);
      ForTaps<kRows, kTaps, kStep, 1>(
          line.rows, j * kStep * kBlock + c,
          [&](std::size_t r, std::size_t tap, std::size_t /*i*/, Vector x)
              SHOAL_LAMBDA { dw[r * kTaps + tap] = hn::MulAdd(x, dy, dw[r * kTaps + tap]); });
    }
    HWY_UNROLL(9)
    for (std::size_t t = 0; t < kRows * kTaps; ++t) V::Store(dw[t], line.dw + t * kBlock + c);
  }
}

template <std::size_t kTaps, std::size_t kStep>
void WeightLine(const DepthwiseWeightLine& line) {
  if (line.rows.size == 3) return WeightLineOf<3, kTaps, kStep>(line);
  if (line.rows.size == 2) return WeightLineOf<2, kTaps, kStep>(line);
  if (line.rows.size == 1) return WeightLineOf<1, kTaps, kStep>(line);
}

// Rows of 3 are nearly all there is; 1 and 2 are phases of a backward pass of stride 2.
DepthwiseLineFunction* FindLine(std::size_t taps, std::size_t step) {
  if (step == 1 && taps == 1) return &Line<1, 1>;
  if (step == 1 && taps == 2) return &Line<2, 1>;
  if (step == 1 && taps == 3) return &Line<3, 1>;
  if (step == 2 && taps == 3) return &Line<3, 2>;
  return nullptr;
}

DepthwiseWeightLineFunction* FindWeightLine(std::size_t taps, std::size_t step) {
  if (step == 1 && taps == 3) return &WeightLine<3, 1>;
  if (step == 2 && taps == 3) return &WeightLine<3, 2>;
  return nullptr;
}

}  // namespace

const DepthwiseLineKernel* VectorLineKernel() {
  static constexpr DepthwiseLineKernel kKernel = {
      .pack = &Pack, .sum = &Sum, .line = &FindLine, .weight_line = &FindWeightLine};
  return &kKernel;
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace shoal::kernels {
namespace {

const DepthwiseLineKernel* NoLineKernel() { return nullptr; }

}  // namespace

const DepthwiseLineKernel* ChooseDepthwiseLineKernel(Target target) {
  using Function = const DepthwiseLineKernel*();
  static constexpr Implementation<Function> kTable[] = {
      SHOAL_SIMD_ROWS(Function, VectorLineKernel){Target::kRef, &NoLineKernel},
  };
  return Choose(std::span<const Implementation<Function>>(kTable), target)();
}

}  // namespace shoal::kernels
#endif
