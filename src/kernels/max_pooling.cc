// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/max_pooling.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstddef>
#include <limits>

#include "kernels/index-inl.h"
#include "kernels/pooling.h"
#include "kernels/pooling_window.h"
#include "kernels/rows-inl.h"

#ifndef SHOAL_KERNELS_MAX_POOLING_ARGS
#define SHOAL_KERNELS_MAX_POOLING_ARGS
namespace shoal::kernels {
namespace {

struct MaxArgs {
  const PoolShape& shape;
  ConstRows x;
  Rows y;
  void* index;  // Or null.
};

struct MaxBackwardArgs {
  const PoolShape& shape;
  ConstRows dy;
  const void* index;
  ConstRows y;  // Or without data.
  Rows dx;
  bool accumulate;
};

bool IndexIsByte(const PoolShape& shape) { return shape.kernel_h * shape.kernel_w <= 256; }

}  // namespace
}  // namespace shoal::kernels
#endif  // SHOAL_KERNELS_MAX_POOLING_ARGS

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

// One pixel of the output, channels [begin, end). `image` is that of the pixel.
template <class L, bool kIndex, class Index>
HWY_INLINE void MaxOfWindow(const MaxArgs& args, const float* image, std::size_t out_y,
                            std::size_t out_x, std::size_t pixel, const PoolBlock& block) {
  using F = typename L::F;
  const PoolAxis vertical = VerticalAxis(args.shape);
  const PoolAxis horizontal = HorizontalAxis(args.shape);
  const PoolAxis::Range lines = vertical.Pixels(out_y);
  const PoolAxis::Range columns = horizontal.Pixels(out_x);
  AlongRowByFour<L>(block.channel_end - block.channel_begin, [&](std::size_t at, auto lanes,
                                                                 auto count) SHOAL_LAMBDA {
    constexpr std::size_t kCount = decltype(count)::value;
    const std::size_t c = block.channel_begin + at;
    F best[kCount];
    F places[kCount];
    for (std::size_t i = 0; i < kCount; ++i) {
      best[i] = L::Set(std::numeric_limits<float>::lowest());
      places[i] = L::Set(0.0F);
    }
    for (std::size_t y = lines.begin; y < lines.end; ++y) {
      std::size_t place =
          vertical.Offset(y, out_y) * args.shape.kernel_w + horizontal.Offset(columns.begin, out_x);
      const float* x = image + (y * args.shape.width + columns.begin) * args.x.stride + c;
      for (std::size_t i = columns.begin; i < columns.end; ++i, ++place, x += args.x.stride) {
        const F here = L::Set(static_cast<float>(place));
        HWY_UNROLL(4) for (std::size_t v = 0; v < kCount; ++v) {
          const F value = lanes.Load(x + v * L::kLanes);
          const auto larger = best[v] < value;
          best[v] = L::Select(larger, value, best[v]);
          if constexpr (kIndex) places[v] = L::Select(larger, here, places[v]);
        }
      }
    }
    for (std::size_t v = 0; v < kCount; ++v) {
      lanes.Store(best[v], args.y.row(pixel) + c + v * L::kLanes);
      if constexpr (kIndex) {
        Index* const index = static_cast<Index*>(args.index) + pixel * args.shape.channels;
        StoreIndices<L>(lanes, places[v], index + c + v * L::kLanes);
      }
    }
  });
}

template <class L, bool kIndex, class Index>
HWY_INLINE void MaxOfLines(const MaxArgs& args, const PoolBlock& block) {
  const PoolShape& shape = args.shape;
  for (std::size_t line = block.line_begin; line < block.line_end; ++line) {
    const float* const image = args.x.row(line / shape.out_height * shape.height * shape.width);
    for (std::size_t x = 0; x < shape.out_width; ++x) {
      MaxOfWindow<L, kIndex, Index>(args, image, line % shape.out_height, x,
                                    line * shape.out_width + x, block);
    }
  }
}

template <class L>
HWY_INLINE void Max(const MaxArgs& args, const PoolBlock& block) {
  if (args.index == nullptr) {
    MaxOfLines<L, false, std::uint8_t>(args, block);
  } else if (IndexIsByte(args.shape)) {
    MaxOfLines<L, true, std::uint8_t>(args, block);
  } else {
    MaxOfLines<L, true, std::uint16_t>(args, block);
  }
}

// A window that covers a pixel of dx, from the block's first channel on.
template <class Index>
struct CoveringWindow {
  const float* dy;
  const float* y;  // With kRelu.
  const Index* index;
  std::size_t place;  // Of the pixel in it.
};

// dx = (or +=) what some windows give to one pixel.
template <class L, bool kRelu, class Index>
HWY_INLINE void AddWindows(const CoveringWindow<Index>* windows, std::size_t window_count,
                           std::size_t channels, bool accumulate, float* dx) {
  using F = typename L::F;
  AlongRowByFour<L>(channels, [&](std::size_t c, auto lanes, auto count) SHOAL_LAMBDA {
    constexpr std::size_t kCount = decltype(count)::value;
    F sum[kCount];
    for (std::size_t v = 0; v < kCount; ++v) {
      sum[v] = accumulate ? lanes.Load(dx + c + v * L::kLanes) : L::Set(0.0F);
    }
    for (std::size_t w = 0; w < window_count; ++w) {
      const CoveringWindow<Index>& window = windows[w];
      HWY_UNROLL(4) for (std::size_t v = 0; v < kCount; ++v) {
        const std::size_t at = c + v * L::kLanes;
        F dy = lanes.Load(window.dy + at);
        if constexpr (kRelu) dy = WherePositive<L>(lanes.Load(window.y + at), dy);
        sum[v] = sum[v] + WhereIndices<L>(lanes, window.index + at, window.place, dy);
      }
    }
    for (std::size_t v = 0; v < kCount; ++v) lanes.Store(sum[v], dx + c + v * L::kLanes);
  });
}

// One pixel of dx: gathers from the windows that cover it, which are listed first: finding them
// costs as much as some vectors of channels.
template <class L, bool kRelu, class Index>
HWY_INLINE void GatherMax(const MaxBackwardArgs& args, std::size_t line, std::size_t in_x,
                          const PoolBlock& block) {
  constexpr std::size_t kListed = 16;  // At a time; there are 9 or fewer in known networks.
  const PoolShape& shape = args.shape;
  const PoolAxis vertical = VerticalAxis(shape);
  const PoolAxis horizontal = HorizontalAxis(shape);
  const std::size_t in_y = line % shape.height;
  const PoolAxis::Range rows = vertical.Windows(in_y);
  const PoolAxis::Range columns = horizontal.Windows(in_x);
  const std::size_t channels = block.channel_end - block.channel_begin;
  float* const dx = args.dx.row(line * shape.width + in_x) + block.channel_begin;
  CoveringWindow<Index> windows[kListed];
  std::size_t count = 0;
  bool accumulate = args.accumulate;
  for (std::size_t y = rows.begin; y < rows.end; ++y) {
    for (std::size_t x = columns.begin; x < columns.end; ++x) {
      const std::size_t pixel = (line / shape.height * shape.out_height + y) * shape.out_width + x;
      windows[count++] = {
          args.dy.row(pixel) + block.channel_begin,
          kRelu ? args.y.row(pixel) + block.channel_begin : nullptr,
          static_cast<const Index*>(args.index) + pixel * shape.channels + block.channel_begin,
          vertical.Offset(in_y, y) * shape.kernel_w + horizontal.Offset(in_x, x)};
      if (count < kListed) continue;
      AddWindows<L, kRelu, Index>(windows, count, channels, accumulate, dx);
      accumulate = true;
      count = 0;
    }
  }
  if (count > 0 || !accumulate) {
    AddWindows<L, kRelu, Index>(windows, count, channels, accumulate, dx);
  }
}

template <class L, bool kRelu, class Index>
HWY_INLINE void GatherLines(const MaxBackwardArgs& args, const PoolBlock& block) {
  for (std::size_t line = block.line_begin; line < block.line_end; ++line) {
    for (std::size_t x = 0; x < args.shape.width; ++x) {
      GatherMax<L, kRelu, Index>(args, line, x, block);
    }
  }
}

template <class L>
HWY_INLINE void MaxBackward(const MaxBackwardArgs& args, const PoolBlock& block) {
  WithConditions(
      [&](auto relu, auto byte) SHOAL_LAMBDA {
        using Index = std::conditional_t<byte, std::uint8_t, std::uint16_t>;
        GatherLines<L, relu, Index>(args, block);
      },
      args.y.data != nullptr, IndexIsByte(args.shape));
}

}  // namespace

#if SHOAL_SIMD
void SimdMax(const MaxArgs& args, const PoolBlock& block) { Max<VectorIndex>(args, block); }
void SimdMaxBackward(const MaxBackwardArgs& args, const PoolBlock& block) {
  MaxBackward<VectorIndex>(args, block);
}
#endif  // SHOAL_SIMD
#if HWY_ONCE
void RefMax(const MaxArgs& args, const PoolBlock& block) { Max<ScalarIndex>(args, block); }
void RefMaxBackward(const MaxBackwardArgs& args, const PoolBlock& block) {
  MaxBackward<ScalarIndex>(args, block);
}
#endif  // HWY_ONCE

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::kernels {
namespace {

using MaxKernel = void(const MaxArgs&, const PoolBlock&);
using MaxBackwardKernel = void(const MaxBackwardArgs&, const PoolBlock&);
constexpr Implementation<MaxKernel> kMaxTable[] = {
    SHOAL_SIMD_ROWS(MaxKernel, SimdMax){Target::kRef, &HWY_NAMESPACE::RefMax}};
constexpr Implementation<MaxBackwardKernel> kBackwardTable[] = {SHOAL_SIMD_ROWS(
    MaxBackwardKernel, SimdMaxBackward){Target::kRef, &HWY_NAMESPACE::RefMaxBackward}};

}  // namespace

std::size_t MaxPoolIndexBytes(const PoolShape& shape) {
  SHOAL_CHECK_LE(shape.kernel_h * shape.kernel_w, std::size_t{65536});
  return shape.out_pixels() * shape.channels * (IndexIsByte(shape) ? 1 : 2);
}

void MaxPool(const PoolShape& shape, ConstRows x, Rows y, void* index, Parallel& parallel,
             Target target) {
  CheckPoolRows(shape, x, y);
  const MaxArgs args{shape, x, y, index};
  MaxKernel* const kernel = Choose<MaxKernel>(kMaxTable, target);
  ForPoolBlocks(shape.batch * shape.out_height, PoolLineReads(shape), shape.channels, parallel,
                [&](const PoolBlock& block) { kernel(args, block); });
}

void MaxPoolBackward(const PoolShape& shape, ConstRows dy, const void* index, ConstRows y, Rows dx,
                     bool accumulate, Parallel& parallel, Target target) {
  CheckPoolRows(shape, dx, dy);
  CheckSameShape(y, dy);
  const MaxBackwardArgs args{shape, dy, index, y, dx, accumulate};
  MaxBackwardKernel* const kernel = Choose<MaxBackwardKernel>(kBackwardTable, target);
  ForPoolBlocks(shape.batch * shape.height, shape.width * shape.channels, shape.channels, parallel,
                [&](const PoolBlock& block) { kernel(args, block); });
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
