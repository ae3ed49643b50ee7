#include "kernels/row_ops.h"

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/row_ops.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <cstddef>

#include "kernels/chunks.h"
#include "kernels/index-inl.h"
#include "kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

template <class L>
HWY_INLINE void Fill(float value, Rows y, std::size_t begin, std::size_t end) {
  const auto fill = [&]() SHOAL_LAMBDA { return L::Set(value); };
  MapRows<L>(y, begin, end, fill);
}

template <class L>
HWY_INLINE void Combine(float a, ConstRows x, float b, Rows y, std::size_t begin, std::size_t end) {
  using F = typename L::F;
  const F factor = L::Set(a);
  const F keep = L::Set(b);
  const auto copy = [&](F from) SHOAL_LAMBDA { return from; };
  const auto scale = [&](F from) SHOAL_LAMBDA { return from * factor; };
  const auto axpy = [&](F from, F to) SHOAL_LAMBDA { return L::Fma(from, factor, to); };
  const auto both = [&](F from, F to) SHOAL_LAMBDA { return L::Fma(from, factor, to * keep); };
  if (b == 0 && a == 1) return MapRows<L>(y, begin, end, copy, x);
  if (b == 0) return MapRows<L>(y, begin, end, scale, x);
  if (b == 1) return MapRows<L>(y, begin, end, axpy, x, ConstRows(y));
  MapRows<L>(y, begin, end, both, x, ConstRows(y));
}

template <class L>
HWY_INLINE void Multiply(ConstRows x, ConstRows y, Rows z, bool accumulate, std::size_t begin,
                         std::size_t end) {
  using F = typename L::F;
  const auto product = [&](F a, F b) SHOAL_LAMBDA { return a * b; };
  MapRowsTo<L>(z, accumulate, begin, end, product, x, y);
}

template <class L>
HWY_INLINE void MaxOfMany(std::span<const ConstRows> inputs, Rows y, std::uint8_t* index,
                          std::size_t begin, std::size_t end) {
  using F = typename L::F;
  for (std::size_t row = begin; row < end; ++row) {
    AlongRow<L>(y.channels, [&](std::size_t c, auto lanes) SHOAL_LAMBDA {
      F best = lanes.Load(inputs[1].row(row) + c);
      F place = L::Set(1.0F);
      for (std::size_t i = 0; i < inputs.size(); ++i) {  // The second again changes nothing.
        const F value = lanes.Load(inputs[i].row(row) + c);
        const auto larger = best < value;
        best = L::Select(larger, value, best);
        place = L::Select(larger, L::Set(static_cast<float>(i)), place);
      }
      lanes.Store(best, y.row(row) + c);
      if (index != nullptr) StoreIndices<L>(lanes, place, index + row * y.channels + c);
    });
  }
}

template <class L>
HWY_INLINE void MaxOfManyBackward(ConstRows dy, const std::uint8_t* index, std::size_t input,
                                  Rows dx, bool add, std::size_t begin, std::size_t end) {
  for (std::size_t row = begin; row < end; ++row) {
    AlongRow<L>(dx.channels, [&](std::size_t c, auto lanes) SHOAL_LAMBDA {
      auto d =
          WhereIndices<L>(lanes, index + row * dx.channels + c, input, lanes.Load(dy.row(row) + c));
      if (add) d = d + lanes.Load(dx.row(row) + c);
      lanes.Store(d, dx.row(row) + c);
    });
  }
}

// Null pointers for ones and zeros.
template <class L>
HWY_INLINE void Affine(ConstRows x, const float* factor, const float* offset, Rows y, bool add,
                       std::size_t begin, std::size_t end) {
  WithConditions(
      [&](auto scaled, auto shifted, auto accumulate) SHOAL_LAMBDA {
        for (std::size_t row = begin; row < end; ++row) {
          AlongRow<L>(x.channels, [&](std::size_t c, auto lanes) SHOAL_LAMBDA {
            auto v = lanes.Load(x.row(row) + c);
            if constexpr (scaled && shifted) {
              v = L::Fma(v, lanes.Load(factor + c), lanes.Load(offset + c));
            } else if constexpr (scaled) {
              v = v * lanes.Load(factor + c);
            } else if constexpr (shifted) {
              v = v + lanes.Load(offset + c);
            }
            if constexpr (accumulate) v = v + lanes.Load(y.row(row) + c);
            lanes.Store(v, y.row(row) + c);
          });
        }
      },
      factor != nullptr, offset != nullptr, add);
}

}  // namespace

// The functions of one target, for lanes `L` and, with indices, `I`.
#define SHOAL_ROW_OPS(Prefix, L, I)                                                            \
  void Prefix##Fill(float value, Rows y, std::size_t begin, std::size_t end) {                 \
    Fill<L>(value, y, begin, end);                                                             \
  }                                                                                            \
  void Prefix##Combine(float a, ConstRows x, float b, Rows y, std::size_t begin,               \
                       std::size_t end) {                                                      \
    Combine<L>(a, x, b, y, begin, end);                                                        \
  }                                                                                            \
  void Prefix##Multiply(ConstRows x, ConstRows y, Rows z, bool accumulate, std::size_t begin,  \
                        std::size_t end) {                                                     \
    Multiply<L>(x, y, z, accumulate, begin, end);                                              \
  }                                                                                            \
  void Prefix##MaxOfMany(std::span<const ConstRows> inputs, Rows y, std::uint8_t* index,       \
                         std::size_t begin, std::size_t end) {                                 \
    MaxOfMany<I>(inputs, y, index, begin, end);                                                \
  }                                                                                            \
  void Prefix##MaxOfManyBackward(ConstRows dy, const std::uint8_t* index, std::size_t input,   \
                                 Rows dx, bool add, std::size_t begin, std::size_t end) {      \
    MaxOfManyBackward<I>(dy, index, input, dx, add, begin, end);                               \
  }                                                                                            \
  void Prefix##Affine(ConstRows x, const float* factor, const float* offset, Rows y, bool add, \
                      std::size_t begin, std::size_t end) {                                    \
    Affine<L>(x, factor, offset, y, add, begin, end);                                          \
  }

#if SHOAL_SIMD
SHOAL_ROW_OPS(Simd, VectorRow, VectorIndex)
#endif
#if HWY_ONCE
SHOAL_ROW_OPS(Ref, ScalarRow, ScalarIndex)
#endif
#undef SHOAL_ROW_OPS

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::kernels {
namespace {

using FillKernel = void(float, Rows, std::size_t, std::size_t);
using CombineKernel = void(float, ConstRows, float, Rows, std::size_t, std::size_t);
using MultiplyKernel = void(ConstRows, ConstRows, Rows, bool, std::size_t, std::size_t);
using MaxKernel = void(std::span<const ConstRows>, Rows, std::uint8_t*, std::size_t, std::size_t);
using MaxBackwardKernel = void(ConstRows, const std::uint8_t*, std::size_t, Rows, bool, std::size_t,
                               std::size_t);
using AffineKernel = void(ConstRows, const float*, const float*, Rows, bool, std::size_t,
                          std::size_t);
constexpr Implementation<FillKernel> kFillTable[] = {
    SHOAL_SIMD_ROWS(FillKernel, SimdFill){Target::kRef, &HWY_NAMESPACE::RefFill}};
constexpr Implementation<CombineKernel> kCombineTable[] = {
    SHOAL_SIMD_ROWS(CombineKernel, SimdCombine){Target::kRef, &HWY_NAMESPACE::RefCombine}};
constexpr Implementation<MultiplyKernel> kMultiplyTable[] = {
    SHOAL_SIMD_ROWS(MultiplyKernel, SimdMultiply){Target::kRef, &HWY_NAMESPACE::RefMultiply}};
constexpr Implementation<MaxKernel> kMaxTable[] = {
    SHOAL_SIMD_ROWS(MaxKernel, SimdMaxOfMany){Target::kRef, &HWY_NAMESPACE::RefMaxOfMany}};
constexpr Implementation<MaxBackwardKernel> kMaxBackwardTable[] = {SHOAL_SIMD_ROWS(
    MaxBackwardKernel, SimdMaxOfManyBackward){Target::kRef, &HWY_NAMESPACE::RefMaxOfManyBackward}};
constexpr Implementation<AffineKernel> kAffineTable[] = {
    SHOAL_SIMD_ROWS(AffineKernel, SimdAffine){Target::kRef, &HWY_NAMESPACE::RefAffine}};

// Calls kernel(args..., begin, end) for all rows of y.
template <class Kernel, class... Args>
void RunRows(Rows y, Parallel& parallel, Kernel* kernel, const Args&... args) {
  ForChunks(y.rows, RowsPerTask(y.channels), parallel,
            [&](std::size_t begin, std::size_t end) { kernel(args..., begin, end); });
}

// Both directions: move(row, channel, place in planes) for all elements, cut by tiles of pixels
// that keep a tile's lines of either side in the first-level cache.
template <class Move>
void ForTiles(std::size_t rows, std::size_t channels, std::size_t pixels, Parallel& parallel,
              const Move& move) {
  constexpr std::size_t kTile = 16;
  const std::size_t tiles = (pixels + kTile - 1) / kTile;
  SHOAL_CHECK_EQ(rows % pixels, std::size_t{0});
  ForChunks(rows / pixels * tiles, RowsPerTask(kTile * channels), parallel,
            [&](std::size_t begin, std::size_t end) {
              for (std::size_t tile = begin; tile < end; ++tile) {
                const std::size_t image = tile / tiles;
                const std::size_t first = tile % tiles * kTile;
                const std::size_t last = std::min(pixels, first + kTile);
                for (std::size_t c = 0; c < channels; ++c) {
                  for (std::size_t p = first; p < last; ++p) {
                    move(image * pixels + p, c, (image * channels + c) * pixels + p);
                  }
                }
              }
            });
}

}  // namespace

void FillRows(float value, Rows y, Parallel& parallel, Target target) {
  RunRows(y, parallel, Choose<FillKernel>(kFillTable, target), value, y);
}

void CombineRows(float a, ConstRows x, float b, Rows y, Parallel& parallel, Target target) {
  CheckSameShape(x, y);
  RunRows(y, parallel, Choose<CombineKernel>(kCombineTable, target), a, x, b, y);
}

void MultiplyRows(ConstRows x, ConstRows y, Rows z, bool accumulate, Parallel& parallel,
                  Target target) {
  CheckSameShape(x, z);
  CheckSameShape(y, z);
  RunRows(z, parallel, Choose<MultiplyKernel>(kMultiplyTable, target), x, y, z, accumulate);
}

void MaxOfRows(std::span<const ConstRows> inputs, Rows y, std::uint8_t* index, Parallel& parallel,
               Target target) {
  SHOAL_CHECK(inputs.size() >= 2 && inputs.size() <= 256);
  for (const ConstRows& input : inputs) CheckSameShape(input, y);
  RunRows(y, parallel, Choose<MaxKernel>(kMaxTable, target), inputs, y, index);
}

void MaxOfRowsBackward(ConstRows dy, const std::uint8_t* index, std::size_t input, Rows dx,
                       bool accumulate, Parallel& parallel, Target target) {
  CheckSameShape(dy, dx);
  RunRows(dx, parallel, Choose<MaxBackwardKernel>(kMaxBackwardTable, target), dy, index, input, dx,
          accumulate);
}

void ScaleChannels(ConstRows x, std::span<const float> factor, std::span<const float> offset,
                   Rows y, bool accumulate, Parallel& parallel, Target target) {
  CheckSameShape(x, y);
  SHOAL_CHECK(factor.empty() || factor.size() == x.channels);
  SHOAL_CHECK(offset.empty() || offset.size() == x.channels);
  const float* const factors = factor.empty() ? nullptr : factor.data();
  const float* const offsets = offset.empty() ? nullptr : offset.data();
  RunRows(y, parallel, Choose<AffineKernel>(kAffineTable, target), x, factors, offsets, y,
          accumulate);
}

void RowsToPlanes(ConstRows x, std::size_t pixels, std::span<float> planes, bool accumulate,
                  Parallel& parallel) {
  SHOAL_CHECK_EQ(planes.size(), x.size());
  if (x.size() == 0) return;
  ForTiles(x.rows, x.channels, pixels, parallel,
           [&](std::size_t row, std::size_t c, std::size_t place) {
             planes[place] = (accumulate ? planes[place] : 0.0F) + x.row(row)[c];
           });
}

void PlanesToRows(std::span<const float> planes, std::size_t pixels, Rows x, bool accumulate,
                  Parallel& parallel) {
  SHOAL_CHECK_EQ(planes.size(), x.size());
  if (x.size() == 0) return;
  ForTiles(x.rows, x.channels, pixels, parallel,
           [&](std::size_t row, std::size_t c, std::size_t place) {
             x.row(row)[c] = (accumulate ? x.row(row)[c] : 0.0F) + planes[place];
           });
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
