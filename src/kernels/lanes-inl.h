// The operations of scalar_lanes.h for the widest vectors of the target being compiled, and loads
// and stores that cope with the end of an array. Only operations with one possible result are
// here: Highway's Min, Max, Round, ConvertTo and approximate reciprocals differ between targets
// for some inputs, so the arithmetic does without them.
#if defined(SHOAL_KERNELS_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_KERNELS_LANES_INL_H
#undef SHOAL_KERNELS_LANES_INL_H
#else
#define SHOAL_KERNELS_LANES_INL_H
#endif

// Highway's header must see which targets were chosen.
// clang-format off
#include "kernels/simd_targets.h"
#include <hwy/highway.h>
// clang-format on

#include <cstddef>
#include <cstdint>
#include <cstring>

#if SHOAL_SIMD
HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class Float>
struct VectorLanes {
  using D = hn::ScalableTag<Float>;
  using DU = hn::RebindToUnsigned<D>;
  using T = Float;
  using F = hn::Vec<D>;
  using U = hn::Vec<DU>;
  using M = hn::Mask<D>;
  static constexpr std::size_t kLanes = hn::MaxLanes(D());

  static HWY_INLINE F Set(T value) { return hn::Set(D(), value); }
  static HWY_INLINE U SetU(hn::TFromD<DU> bits) { return hn::Set(DU(), bits); }
  static HWY_INLINE U Bits(F value) { return hn::BitCast(DU(), value); }
  static HWY_INLINE F FromBits(U bits) { return hn::BitCast(D(), bits); }

  static HWY_INLINE F Fma(F a, F b, F c) { return hn::MulAdd(a, b, c); }

  static HWY_INLINE F Select(M condition, F yes, F no) {
    return hn::IfThenElse(condition, yes, no);
  }
  static HWY_INLINE M IsNaN(F value) { return hn::IsNaN(value); }
  static HWY_INLINE M IsZero(U bits) { return hn::RebindMask(D(), bits == hn::Zero(DU())); }
  static HWY_INLINE M And(M a, M b) { return hn::And(a, b); }
  static HWY_INLINE M Or(M a, M b) { return hn::Or(a, b); }
  static HWY_INLINE M Not(M a) { return hn::Not(a); }

  template <int kBy>
  static HWY_INLINE U Shl(U bits) {
    return hn::ShiftLeft<kBy>(bits);
  }
  template <int kBy>
  static HWY_INLINE U Shr(U bits) {
    return hn::ShiftRight<kBy>(bits);
  }
};

using VectorF64 = VectorLanes<double>;

struct VectorF32 : VectorLanes<float> {
  template <class Function, class... Vectors>
  static HWY_INLINE F InF64(Vectors... values) {
    const VectorF64::D wide;
    const hn::Half<D> half;
    const auto low =
        Function::template Run<VectorF64>(hn::PromoteTo(wide, hn::LowerHalf(half, values))...);
    const auto high =
        Function::template Run<VectorF64>(hn::PromoteTo(wide, hn::UpperHalf(half, values))...);
    return hn::Combine(D(), hn::DemoteTo(half, high), hn::DemoteTo(half, low));
  }

  static HWY_INLINE F Load(const float* from) { return hn::LoadU(D(), from); }
  static HWY_INLINE void Store(F value, float* to) { hn::StoreU(value, D(), to); }

  // The first `count` lanes from memory, `fill` in the others. Reads no further.
  static HWY_INLINE F LoadSome(const float* from, std::size_t count, float fill) {
    alignas(64) float lanes[kLanes];
    hn::Store(Set(fill), D(), lanes);
    std::memcpy(lanes, from, count * sizeof(float));
    return hn::Load(D(), lanes);
  }
  // Writes the first `count` lanes and no further.
  static HWY_INLINE void StoreSome(F value, float* to, std::size_t count) {
    alignas(64) float lanes[kLanes];
    hn::Store(value, D(), lanes);
    std::memcpy(to, lanes, count * sizeof(float));
  }
};

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // SHOAL_SIMD

#endif  // per-target include guard
