// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/average_pooling.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstddef>

#include "kernels/pooling.h"
#include "kernels/pooling_window.h"
#include "kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

HWY_INLINE float OneOver(std::size_t divisor) {
  return divisor == 0 ? 0.0F : 1.0F / static_cast<float>(divisor);
}

// One pixel of the output; `image` is that of the pixel.
template <class L>
HWY_INLINE void AverageOfWindow(const PoolShape& shape, const float* image, std::size_t x_stride,
                                std::size_t out_y, std::size_t out_x, const PoolBlock& block,
                                float* out) {
  using F = typename L::F;
  const PoolAxis vertical = VerticalAxis(shape);
  const PoolAxis horizontal = HorizontalAxis(shape);
  const PoolAxis::Range lines = vertical.Pixels(out_y);
  const PoolAxis::Range columns = horizontal.Pixels(out_x);
  const F factor = L::Set(OneOver(vertical.Length(out_y) * horizontal.Length(out_x)));
  AlongRowByFour<L>(block.channel_end - block.channel_begin,
                    [&](std::size_t at, auto lanes, auto count) SHOAL_LAMBDA {
                      constexpr std::size_t kCount = decltype(count)::value;
                      F sum[kCount];
                      for (F& s : sum) s = L::Set(0.0F);
                      for (std::size_t y = lines.begin; y < lines.end; ++y) {
                        const float* x = image + (y * shape.width + columns.begin) * x_stride +
                                         block.channel_begin + at;
                        for (std::size_t i = columns.begin; i < columns.end; ++i, x += x_stride) {
                          HWY_UNROLL(4) for (std::size_t v = 0; v < kCount; ++v) {
                            sum[v] = sum[v] + lanes.Load(x + v * L::kLanes);
                          }
                        }
                      }
                      float* const to = out + block.channel_begin + at;
                      for (std::size_t v = 0; v < kCount; ++v)
                        lanes.Store(sum[v] * factor, to + v * L::kLanes);
                    });
}

template <class L>
HWY_INLINE void Average(const PoolShape& shape, ConstRows x, Rows y, const PoolBlock& block) {
  for (std::size_t line = block.line_begin; line < block.line_end; ++line) {
    const float* const image = x.row(line / shape.out_height * shape.height * shape.width);
    for (std::size_t i = 0; i < shape.out_width; ++i) {
      AverageOfWindow<L>(shape, image, x.stride, line % shape.out_height, i, block,
                         y.row(line * shape.out_width + i));
    }
  }
}

// A window that covers a pixel of dx, from the block's first channel on.
struct Share {
  const float* dy;
  float factor;
};

// dx = (or +=) what some windows give to one pixel.
template <class L>
HWY_INLINE void AddShares(const Share* shares, std::size_t share_count, std::size_t channels,
                          bool accumulate, float* dx) {
  using F = typename L::F;
  AlongRowByFour<L>(channels, [&](std::size_t c, auto lanes, auto count) SHOAL_LAMBDA {
    constexpr std::size_t kCount = decltype(count)::value;
    F sum[kCount];
    for (std::size_t v = 0; v < kCount; ++v) {
      sum[v] = accumulate ? lanes.Load(dx + c + v * L::kLanes) : L::Set(0.0F);
    }
    for (std::size_t s = 0; s < share_count; ++s) {
      const F factor = L::Set(shares[s].factor);
      HWY_UNROLL(4) for (std::size_t v = 0; v < kCount; ++v) {
        sum[v] = L::Fma(lanes.Load(shares[s].dy + c + v * L::kLanes), factor, sum[v]);
      }
    }
    for (std::size_t v = 0; v < kCount; ++v) lanes.Store(sum[v], dx + c + v * L::kLanes);
  });
}

// One pixel of dx: gathers from the windows that cover it, which are listed first: finding them
// costs as much as some vectors of channels.
template <class L>
HWY_INLINE void GatherAverage(const PoolShape& shape, ConstRows dy, std::size_t line,
                              std::size_t in_x, bool accumulate, const PoolBlock& block,
                              float* dx) {
  constexpr std::size_t kListed = 16;  // At a time; there are 9 or fewer in known networks.
  const PoolAxis vertical = VerticalAxis(shape);
  const PoolAxis horizontal = HorizontalAxis(shape);
  const PoolAxis::Range rows = vertical.Windows(line % shape.height);
  const PoolAxis::Range columns = horizontal.Windows(in_x);
  const std::size_t first_out_line = line / shape.height * shape.out_height;
  const std::size_t channels = block.channel_end - block.channel_begin;
  dx += block.channel_begin;
  Share shares[kListed];
  std::size_t count = 0;
  for (std::size_t y = rows.begin; y < rows.end; ++y) {
    for (std::size_t x = columns.begin; x < columns.end; ++x) {
      const std::size_t pixel = (first_out_line + y) * shape.out_width + x;
      shares[count++] = {dy.row(pixel) + block.channel_begin,
                         OneOver(vertical.Length(y) * horizontal.Length(x))};
      if (count < kListed) continue;
      AddShares<L>(shares, count, channels, accumulate, dx);
      accumulate = true;
      count = 0;
    }
  }
  if (count > 0 || !accumulate) AddShares<L>(shares, count, channels, accumulate, dx);
}

template <class L>
HWY_INLINE void AverageBackward(const PoolShape& shape, ConstRows dy, Rows dx, bool accumulate,
                                const PoolBlock& block) {
  for (std::size_t line = block.line_begin; line < block.line_end; ++line) {
    for (std::size_t x = 0; x < shape.width; ++x) {
      GatherAverage<L>(shape, dy, line, x, accumulate, block, dx.row(line * shape.width + x));
    }
  }
}

}  // namespace

#if SHOAL_SIMD
void SimdAverage(const PoolShape& shape, ConstRows x, Rows y, const PoolBlock& block) {
  Average<VectorRow>(shape, x, y, block);
}
void SimdAverageBackward(const PoolShape& shape, ConstRows dy, Rows dx, bool accumulate,
                         const PoolBlock& block) {
  AverageBackward<VectorRow>(shape, dy, dx, accumulate, block);
}
#endif  // SHOAL_SIMD
#if HWY_ONCE
void RefAverage(const PoolShape& shape, ConstRows x, Rows y, const PoolBlock& block) {
  Average<ScalarRow>(shape, x, y, block);
}
void RefAverageBackward(const PoolShape& shape, ConstRows dy, Rows dx, bool accumulate,
                        const PoolBlock& block) {
  AverageBackward<ScalarRow>(shape, dy, dx, accumulate, block);
}
#endif  // HWY_ONCE

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::kernels {
namespace {

using AverageKernel = void(const PoolShape&, ConstRows, Rows, const PoolBlock&);
using AverageBackwardKernel = void(const PoolShape&, ConstRows, Rows, bool, const PoolBlock&);
constexpr Implementation<AverageKernel> kAverageTable[] = {
    SHOAL_SIMD_ROWS(AverageKernel, SimdAverage){Target::kRef, &HWY_NAMESPACE::RefAverage}};
constexpr Implementation<AverageBackwardKernel> kBackwardTable[] = {SHOAL_SIMD_ROWS(
    AverageBackwardKernel, SimdAverageBackward){Target::kRef, &HWY_NAMESPACE::RefAverageBackward}};

}  // namespace

void AveragePool(const PoolShape& shape, ConstRows x, Rows y, Parallel& parallel, Target target) {
  CheckPoolRows(shape, x, y);
  AverageKernel* const kernel = Choose<AverageKernel>(kAverageTable, target);
  ForPoolBlocks(shape.batch * shape.out_height, PoolLineReads(shape), shape.channels, parallel,
                [&](const PoolBlock& block) { kernel(shape, x, y, block); });
}

void AveragePoolBackward(const PoolShape& shape, ConstRows dy, Rows dx, bool accumulate,
                         Parallel& parallel, Target target) {
  CheckPoolRows(shape, dx, dy);
  AverageBackwardKernel* const kernel = Choose<AverageBackwardKernel>(kBackwardTable, target);
  ForPoolBlocks(shape.batch * shape.height, shape.width * shape.channels, shape.channels, parallel,
                [&](const PoolBlock& block) { kernel(shape, dy, dx, accumulate, block); });
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
