// The transforms of Winograd's convolutions F(2×2, 3×3) and F(4×4, 3×3), written once over a set
// of operations (scalar_lanes.h): every lane is a channel of its own, so all targets give the same
// bits.
//
// Polynomials are multiplied by their values at the points 0, 1, -1 (F4: also 2, -2) and ∞:
//   y = A^T [(G w G^T) ⊙ (B^T x B)] A
// for a tile y of kSide × kSide outputs and its window x of (kSide + 2)². The gradients are the
// same products with A and G transposed. Points beyond ±2 would save more multiplications and
// lose more digits than training can spare.
#if defined(SHOAL_KERNELS_WINOGRAD_TRANSFORM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_KERNELS_WINOGRAD_TRANSFORM_INL_H
#undef SHOAL_KERNELS_WINOGRAD_TRANSFORM_INL_H
#else
#define SHOAL_KERNELS_WINOGRAD_TRANSFORM_INL_H
#endif

// Highway's header must see which targets were chosen.
// clang-format off
#include "kernels/simd_targets.h"
#include <hwy/highway.h>
// clang-format on

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {

// One-dimensional transforms: out[kOut] = matrix · in[kIn].

struct WinogradF2 {
  struct Input {  // B^T
    static constexpr std::size_t kIn = 4;
    static constexpr std::size_t kOut = 4;
    template <class L, class F = typename L::F>
    static HWY_INLINE void Apply(const F* x, F* v) {
      v[0] = x[0] - x[2];
      v[1] = x[1] + x[2];
      v[2] = x[2] - x[1];
      v[3] = x[1] - x[3];
    }
  };
  struct Weights {  // G
    static constexpr std::size_t kIn = 3;
    static constexpr std::size_t kOut = 4;
    template <class L, class F = typename L::F>
    static HWY_INLINE void Apply(const F* w, F* u) {
      const F half = L::Set(0.5F);
      const F even = half * (w[0] + w[2]);
      u[0] = w[0];
      u[1] = L::Fma(half, w[1], even);
      u[2] = L::Fma(L::Set(-0.5F), w[1], even);
      u[3] = w[2];
    }
  };
  struct Output {  // A^T
    static constexpr std::size_t kIn = 4;
    static constexpr std::size_t kOut = 2;
    template <class L, class F = typename L::F>
    static HWY_INLINE void Apply(const F* m, F* y) {
      y[0] = m[0] + (m[1] + m[2]);
      y[1] = (m[1] - m[2]) - m[3];
    }
  };
  struct OutputGradient {  // A
    static constexpr std::size_t kIn = 2;
    static constexpr std::size_t kOut = 4;
    template <class L, class F = typename L::F>
    static HWY_INLINE void Apply(const F* y, F* m) {
      m[0] = y[0];
      m[1] = y[0] + y[1];
      m[2] = y[0] - y[1];
      m[3] = L::Set(0.0F) - y[1];
    }
  };
  struct WeightsGradient {  // G^T
    static constexpr std::size_t kIn = 4;
    static constexpr std::size_t kOut = 3;
    template <class L, class F = typename L::F>
    static HWY_INLINE void Apply(const F* u, F* w) {
      const F half = L::Set(0.5F);
      const F sum = u[1] + u[2];
      w[0] = L::Fma(half, sum, u[0]);
      w[1] = half * (u[1] - u[2]);
      w[2] = L::Fma(half, sum, u[3]);
    }
  };
};

struct WinogradF4 {
  struct Input {
    static constexpr std::size_t kIn = 6;
    static constexpr std::size_t kOut = 6;
    template <class L, class F = typename L::F>
    static HWY_INLINE void Apply(const F* x, F* v) {
      const F minus4 = L::Set(-4.0F);
      const F minus5 = L::Set(-5.0F);
      const F four = L::Set(4.0F);
      const F even1 = L::Fma(minus4, x[2], x[4]);
      const F odd1 = L::Fma(minus4, x[1], x[3]);
      const F even2 = x[4] - x[2];
      const F odd2 = x[3] - x[1];
      v[0] = L::Fma(four, x[0], L::Fma(minus5, x[2], x[4]));
      v[1] = even1 + odd1;
      v[2] = even1 - odd1;
      v[3] = L::Fma(L::Set(2.0F), odd2, even2);
      v[4] = L::Fma(L::Set(-2.0F), odd2, even2);
      v[5] = L::Fma(four, x[1], L::Fma(minus5, x[3], x[5]));
    }
  };
  struct Weights {
    static constexpr std::size_t kIn = 3;
    static constexpr std::size_t kOut = 6;
    template <class L, class F = typename L::F>
    static HWY_INLINE void Apply(const F* w, F* u) {
      const F sixth = L::Set(1.0F / 6);
      const F even1 = L::Set(-1.0F / 6) * (w[0] + w[2]);
      const F even2 = L::Fma(L::Set(1.0F / 24), w[0], sixth * w[2]);
      u[0] = L::Set(0.25F) * w[0];
      u[1] = L::Fma(L::Set(-1.0F / 6), w[1], even1);
      u[2] = L::Fma(sixth, w[1], even1);
      u[3] = L::Fma(L::Set(1.0F / 12), w[1], even2);
      u[4] = L::Fma(L::Set(-1.0F / 12), w[1], even2);
      u[5] = w[2];
    }
  };
  struct Output {
    static constexpr std::size_t kIn = 6;
    static constexpr std::size_t kOut = 4;
    template <class L, class F = typename L::F>
    static HWY_INLINE void Apply(const F* m, F* y) {
      const F even1 = m[1] + m[2];
      const F odd1 = m[1] - m[2];
      const F even2 = m[3] + m[4];
      const F odd2 = m[3] - m[4];
      y[0] = m[0] + (even1 + even2);
      y[1] = L::Fma(L::Set(2.0F), odd2, odd1);
      y[2] = L::Fma(L::Set(4.0F), even2, even1);
      y[3] = L::Fma(L::Set(8.0F), odd2, odd1) + m[5];
    }
  };
  struct OutputGradient {
    static constexpr std::size_t kIn = 4;
    static constexpr std::size_t kOut = 6;
    template <class L, class F = typename L::F>
    static HWY_INLINE void Apply(const F* y, F* m) {
      const F even1 = y[0] + y[2];
      const F odd1 = y[1] + y[3];
      const F even2 = L::Fma(L::Set(4.0F), y[2], y[0]);
      const F odd2 = L::Fma(L::Set(4.0F), y[3], y[1]);
      m[0] = y[0];
      m[1] = even1 + odd1;
      m[2] = even1 - odd1;
      m[3] = L::Fma(L::Set(2.0F), odd2, even2);
      m[4] = L::Fma(L::Set(-2.0F), odd2, even2);
      m[5] = y[3];
    }
  };
  struct WeightsGradient {
    static constexpr std::size_t kIn = 6;
    static constexpr std::size_t kOut = 3;
    template <class L, class F = typename L::F>
    static HWY_INLINE void Apply(const F* u, F* w) {
      const F sum1 = L::Set(-1.0F / 6) * (u[1] + u[2]);
      const F sum2 = u[3] + u[4];
      w[0] = L::Fma(L::Set(0.25F), u[0], L::Fma(L::Set(1.0F / 24), sum2, sum1));
      w[1] = L::Fma(L::Set(1.0F / 12), u[3] - u[4], L::Set(1.0F / 6) * (u[2] - u[1]));
      w[2] = L::Fma(L::Set(1.0F / 6), sum2, sum1) + u[5];
    }
  };
};

// out = T · in · T^T. `load` gives element i of the kIn² row by row, `store` takes element i of
// kOut². The middle is more than the registers hold; it stays in the L1.
template <class L, class T, class Load, class Store>
HWY_INLINE void TransformSquare(const Load& load, const Store& store) {
  typename L::F middle[T::kOut][T::kIn];
  HWY_UNROLL(6)
  for (std::size_t j = 0; j < T::kIn; ++j) {
    typename L::F in[T::kIn];
    typename L::F out[T::kOut];
    HWY_UNROLL(6)
    for (std::size_t i = 0; i < T::kIn; ++i) in[i] = load(i * T::kIn + j);
    T::template Apply<L>(in, out);
    HWY_UNROLL(6)
    for (std::size_t i = 0; i < T::kOut; ++i) middle[i][j] = out[i];
  }
  HWY_UNROLL(6)
  for (std::size_t i = 0; i < T::kOut; ++i) {
    typename L::F out[T::kOut];
    T::template Apply<L>(middle[i], out);
    HWY_UNROLL(6)
    for (std::size_t j = 0; j < T::kOut; ++j) store(i * T::kOut + j, out[j]);
  }
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target include guard
