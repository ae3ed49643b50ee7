// How kernels walk along rows of channels, written once for the target's vectors and for plain
// floats: whole vectors, then the last, partial one, which is loaded and stored in part.
//
//   AlongRow<L>(channels, [&](std::size_t c, auto lanes) SHOAL_LAMBDA {
//     lanes.Store(lanes.Load(x + c) + lanes.Load(y + c), y + c);
//   });
#if defined(SHOAL_KERNELS_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_KERNELS_ROWS_INL_H
#undef SHOAL_KERNELS_ROWS_INL_H
#else
#define SHOAL_KERNELS_ROWS_INL_H
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/lanes-inl.h"
#include "kernels/math-inl.h"
#include "kernels/rows.h"
#include "kernels/scalar_lanes.h"

// A lambda is compiled for the target only if it says so, and a body called per vector must not
// be a call.
#ifndef SHOAL_LAMBDA
#define SHOAL_LAMBDA HWY_ATTR __attribute__((always_inline))
#endif

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {

// The operations of rows on one float at a time: `ref`.
struct ScalarRow : ScalarF32 {
  static constexpr std::size_t kLanes = 1;
  static HWY_INLINE F Load(const float* from) { return *from; }
  static HWY_INLINE void Store(F value, float* to) { *to = value; }
  static HWY_INLINE F LoadSome(const float* from, std::size_t /*count*/) { return *from; }
  static HWY_INLINE void StoreSome(F value, float* to, std::size_t /*count*/) { *to = value; }
  static HWY_INLINE F Max(F a, F b) { return a < b ? b : a; }
  static HWY_INLINE F Sqrt(F a) { return std::sqrt(a); }
};

#if SHOAL_SIMD
struct VectorRow : VectorF32 {
  // Zeros beyond `count`.
  static HWY_INLINE F LoadSome(const float* from, std::size_t count) {
#if HWY_TARGET == HWY_NEON
    return VectorF32::LoadSome(from, count, 0.0F);
#else  // x86 reads only what the mask says.
    return hn::MaskedLoad(hn::FirstN(D(), count), D(), from);
#endif
  }
  // b where a < b, else a.
  static HWY_INLINE F Max(F a, F b) { return Select(a < b, b, a); }
  static HWY_INLINE F Sqrt(F a) { return hn::Sqrt(a); }
};
#endif  // SHOAL_SIMD

template <class L>
struct WholeVector {
  HWY_INLINE typename L::F Load(const float* from) const { return L::Load(from); }
  HWY_INLINE void Store(typename L::F value, float* to) const { L::Store(value, to); }
  HWY_INLINE std::size_t count() const { return L::kLanes; }
};

template <class L>
struct PartVector {
  std::size_t lanes;
  HWY_INLINE typename L::F Load(const float* from) const { return L::LoadSome(from, lanes); }
  HWY_INLINE void Store(typename L::F value, float* to) const { L::StoreSome(value, to, lanes); }
  HWY_INLINE std::size_t count() const { return lanes; }
};

// Calls body(c, lanes) for the vectors of a row of `channels`.
template <class L, class Body>
HWY_INLINE void AlongRow(std::size_t channels, const Body& body) {
  std::size_t c = 0;
  for (; c + L::kLanes <= channels; c += L::kLanes) body(c, WholeVector<L>());
  if constexpr (L::kLanes > 1) {
    if (c < channels) body(c, PartVector<L>{channels - c});
  }
}

// The same with four vectors at a time while there are as many: calls
// body(c, lanes, count), where `count` is a constant and vector i starts at c + i * L::kLanes. For
// bodies that loop over many rows, where the loop is dear.
template <class L, class Body>
HWY_INLINE void AlongRowByFour(std::size_t channels, const Body& body) {
  std::size_t c = 0;
  for (; c + 4 * L::kLanes <= channels; c += 4 * L::kLanes) {
    body(c, WholeVector<L>(), std::integral_constant<std::size_t, 4>());
  }
  AlongRow<L>(channels - c, [&](std::size_t rest, auto lanes) SHOAL_LAMBDA {
    body(c + rest, lanes, std::integral_constant<std::size_t, 1>());
  });
}

// value where y > 0, else 0: the gradient through a ReLU whose output is y.
template <class L>
HWY_INLINE typename L::F WherePositive(typename L::F y, typename L::F value) {
  const typename L::F zero = L::Set(0.0F);
  return L::Select(zero < y, value, zero);
}

// y = op(inputs...) element by element for rows [begin, end); y may be an input. Rows without gaps
// are taken as one.
template <class L, class Op, class... Inputs>
HWY_INLINE void MapRows(Rows y, std::size_t begin, std::size_t end, const Op& op,
                        Inputs... inputs) {
  const bool dense = y.stride == y.channels && (... && (inputs.stride == y.channels));
  const std::size_t length = dense ? (end - begin) * y.channels : y.channels;
  if (dense) end = begin + 1;
  for (std::size_t row = begin; row < end; ++row) {
    AlongRow<L>(length, [&](std::size_t c, auto lanes) SHOAL_LAMBDA {
      lanes.Store(op(lanes.Load(inputs.row(row) + c)...), y.row(row) + c);
    });
  }
}

// The same, or with `accumulate` y += op(inputs...).
template <class L, class Op, class... Inputs>
HWY_INLINE void MapRowsTo(Rows y, bool accumulate, std::size_t begin, std::size_t end, const Op& op,
                          Inputs... inputs) {
  using F = typename L::F;
  if (accumulate) {
    const auto add = [&](F before, auto... x) SHOAL_LAMBDA { return before + op(x...); };
    MapRows<L>(y, begin, end, add, ConstRows(y), inputs...);
  } else {
    MapRows<L>(y, begin, end, op, inputs...);
  }
}

// Calls run(std::bool_constant...) with the conditions as types: a loop for each combination, so
// that what is left out costs nothing in it.
template <class Run>
HWY_INLINE void WithConditions(const Run& run) {
  run();
}
template <class Run, class... More>
HWY_INLINE void WithConditions(const Run& run, bool first, More... more) {
  if (first) {
    WithConditions([&](auto... rest) SHOAL_LAMBDA { run(std::true_type(), rest...); }, more...);
  } else {
    WithConditions([&](auto... rest) SHOAL_LAMBDA { run(std::false_type(), rest...); }, more...);
  }
}

// sums[s][c] = the sum over rows of what body(row, c, lanes, F(&terms)[kSums]) adds to terms[s];
// sums[s] lies at sums + s * sums_stride. Rows are taken kRows at a time: sums are loaded and
// stored once for as many terms, but long rows are as many streams to prefetch per matrix.
template <class L, std::size_t kSums, std::size_t kRows = 4, class Body>
HWY_INLINE void SumOverRows(std::size_t rows, std::size_t channels, float* sums,
                            std::size_t sums_stride, const Body& body) {
  using F = typename L::F;
  for (std::size_t s = 0; s < kSums; ++s) {
    for (std::size_t c = 0; c < channels; ++c) sums[s * sums_stride + c] = 0.0F;
  }
  const auto add_rows = [&](std::size_t row, auto count) SHOAL_LAMBDA {
    AlongRow<L>(channels, [&](std::size_t c, auto lanes) SHOAL_LAMBDA {
      F terms[kSums];
      for (std::size_t s = 0; s < kSums; ++s) terms[s] = L::Set(0.0F);
      HWY_UNROLL(4)
      for (std::size_t i = 0; i < decltype(count)::value; ++i) body(row + i, c, lanes, terms);
      for (std::size_t s = 0; s < kSums; ++s) {
        float* const sum = sums + s * sums_stride + c;
        lanes.Store(lanes.Load(sum) + terms[s], sum);
      }
    });
  };
  std::size_t row = 0;
  for (; row + kRows <= rows; row += kRows) {
    add_rows(row, std::integral_constant<std::size_t, kRows>());
  }
  for (; row < rows; ++row) add_rows(row, std::integral_constant<std::size_t, 1>());
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
