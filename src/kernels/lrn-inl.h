// Powers: what both kinds of local response normalisation need of a scale.
#if defined(SHOAL_KERNELS_LRN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_KERNELS_LRN_INL_H
#undef SHOAL_KERNELS_LRN_INL_H
#else
#define SHOAL_KERNELS_LRN_INL_H
#endif

#include "kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {

struct ScalarPower : ScalarRow {
  static HWY_INLINE F ReciprocalSqrt(F s) { return 1.0F / std::sqrt(s); }
};

#if SHOAL_SIMD
struct VectorPower : VectorRow {
  // The CPU's estimate (8 bits on ARM, 12 or more on x86) and Newton steps that double the bits: a
  // square root and a division would take three times as long, and are what this layer waits for.
  static HWY_INLINE F ReciprocalSqrt(F s) {
    constexpr int kSteps = HWY_TARGET == HWY_NEON ? 2 : 1;
    const F half = Set(0.5F);
    F y = hn::ApproximateReciprocalSqrt(s);
    for (int i = 0; i < kSteps; ++i) y = Fma(y, hn::NegMulAdd(half * s * y, y, half), y);
    return y;
  }
};
#endif  // SHOAL_SIMD

template <class L>
struct Powers {
  typename L::F power;     // s^-beta
  typename L::F quotient;  // s^-beta / s
};

// For s > 0; nearly all networks have beta = 0.75, for which there is a short way.
template <class L, bool kThreeQuarters>
HWY_INLINE Powers<L> PowersOf(typename L::F s, typename L::F minus_beta) {
  if constexpr (kThreeQuarters) {
    const auto root = L::ReciprocalSqrt(s);                // s^-1/2
    const auto inverse = root * root;                      // s^-1
    const auto power = inverse * L::ReciprocalSqrt(root);  // The last is s^1/4.
    return {power, power * inverse};
  } else {
    const auto power = Exp<L>(minus_beta * Log<L>(s));
    return {power, power / s};
  }
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
