#include "kernels/dropout.h"

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dropout.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstddef>

#include "base/random.h"
#include "kernels/chunks.h"
#include "kernels/rows-inl.h"

#ifndef SHOAL_KERNELS_DROPOUT_ARGS
#define SHOAL_KERNELS_DROPOUT_ARGS
namespace shoal::kernels {
namespace {

struct DropoutArgs {
  std::uint32_t keys[2];
  float threshold;  // 1 + ratio.
  float factor;     // 1 / (1 - ratio).
  ConstRows x;
  Rows y;
  bool accumulate;
};

}  // namespace
}  // namespace shoal::kernels
#endif  // SHOAL_KERNELS_DROPOUT_ARGS

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

struct ScalarCounter : ScalarRow {
  static HWY_INLINE U CountFrom(std::uint32_t first) { return first; }
};
#if SHOAL_SIMD
struct VectorCounter : VectorRow {
  static HWY_INLINE U CountFrom(std::uint32_t first) { return hn::Iota(DU(), first); }
};
#endif

// A bijection of 32 bits in which each bit of x changes each bit of the result with a probability
// near one half: shifts and odd multipliers, by turns.
template <class L>
HWY_INLINE typename L::U Mix(typename L::U x) {
  x = x ^ L::template Shr<16>(x);
  x = x * L::SetU(0x7feb352dU);
  x = x ^ L::template Shr<15>(x);
  x = x * L::SetU(0x846ca68bU);
  return x ^ L::template Shr<16>(x);
}

// Uniform in [1, 2), for element numbers `count`: the high bits as a float's fraction.
template <class L>
HWY_INLINE typename L::F Uniform(const DropoutArgs& args, typename L::U count) {
  const auto bits = Mix<L>(Mix<L>(count ^ L::SetU(args.keys[0])) + L::SetU(args.keys[1]));
  return L::FromBits(L::template Shr<9>(bits) | L::SetU(0x3f800000U));
}

template <class L>
HWY_INLINE void Drop(const DropoutArgs& args, std::size_t begin, std::size_t end) {
  using F = typename L::F;
  const F zero = L::Set(0.0F);
  const F threshold = L::Set(args.threshold);
  const F factor = L::Set(args.factor);
  for (std::size_t row = begin; row < end; ++row) {
    AlongRow<L>(args.x.channels, [&](std::size_t c, auto lanes) SHOAL_LAMBDA {
      const auto first = static_cast<std::uint32_t>(row * args.x.channels + c);
      const F uniform = Uniform<L>(args, L::CountFrom(first));
      F v = lanes.Load(args.x.row(row) + c) * factor;
      v = L::Select(uniform < threshold, zero, v);
      if (args.accumulate) v = v + lanes.Load(args.y.row(row) + c);
      lanes.Store(v, args.y.row(row) + c);
    });
  }
}

}  // namespace

#if SHOAL_SIMD
void SimdDrop(const DropoutArgs& args, std::size_t begin, std::size_t end) {
  Drop<VectorCounter>(args, begin, end);
}
#endif  // SHOAL_SIMD
#if HWY_ONCE
void RefDrop(const DropoutArgs& args, std::size_t begin, std::size_t end) {
  Drop<ScalarCounter>(args, begin, end);
}
#endif  // HWY_ONCE

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::kernels {
namespace {

using DropKernel = void(const DropoutArgs&, std::size_t, std::size_t);
constexpr Implementation<DropKernel> kTable[] = {
    SHOAL_SIMD_ROWS(DropKernel, SimdDrop){Target::kRef, &HWY_NAMESPACE::RefDrop}};

}  // namespace

void Dropout(const DropoutMask& mask, ConstRows x, Rows y, bool accumulate, Parallel& parallel,
             Target target) {
  CheckSameShape(x, y);
  SHOAL_CHECK(mask.ratio >= 0 && mask.ratio < 1);
  const std::uint64_t key = Random(mask.seed, mask.iteration).Bits();
  const DropoutArgs args{
      .keys = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32U)},
      .threshold = 1 + mask.ratio,
      .factor = 1 / (1 - mask.ratio),
      .x = x,
      .y = y,
      .accumulate = accumulate};
  DropKernel* const kernel = Choose<DropKernel>(kTable, target);
  ForChunks(y.rows, RowsPerTask(y.channels), parallel,
            [&](std::size_t begin, std::size_t end) { kernel(args, begin, end); });
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
