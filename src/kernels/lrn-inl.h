// MinusPower: the power both kinds of local response normalisation need.
#if defined(SHOAL_KERNELS_LRN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_KERNELS_LRN_INL_H
#undef SHOAL_KERNELS_LRN_INL_H
#else
#define SHOAL_KERNELS_LRN_INL_H
#endif

#include "kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {

// s^-beta for s > 0; nearly all networks have beta = 0.75, for which there is a short way.
template <class L, bool kThreeQuarters>
HWY_INLINE typename L::F MinusPower(typename L::F s, typename L::F minus_beta) {
  if constexpr (kThreeQuarters) {
    return L::Set(1.0F) / L::Sqrt(s * L::Sqrt(s));
  } else {
    return Exp<L>(minus_beta * Log<L>(s));
  }
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
