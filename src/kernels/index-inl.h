// Vectors of small indices beside vectors of floats: which of several inputs a maximum came from.
#if defined(SHOAL_KERNELS_INDEX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_KERNELS_INDEX_INL_H
#undef SHOAL_KERNELS_INDEX_INL_H
#else
#define SHOAL_KERNELS_INDEX_INL_H
#endif

#include "kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {

// Indices: floats while they are chosen (exact below 2^24), bytes or two in memory.
struct ScalarIndex : ScalarRow {
  template <class Index>
  static HWY_INLINE void StoreIndex(F index, Index* to) {
    *to = static_cast<Index>(index);
  }
  template <class Index>
  static HWY_INLINE F WhereIndex(const Index* at, std::size_t index, F value) {
    return *at == index ? value : 0.0F;
  }
};

#if SHOAL_SIMD
struct VectorIndex : VectorRow {
  using DI = hn::RebindToSigned<D>;
  template <class Index>
  static HWY_INLINE void StoreIndex(F index, Index* to) {
    const hn::Rebind<Index, D> narrow;
    hn::StoreU(hn::DemoteTo(narrow, hn::ConvertTo(DI(), index)), narrow, to);
  }
  // value where at[i] is `index`, else 0.
  template <class Index>
  static HWY_INLINE F WhereIndex(const Index* at, std::size_t index, F value) {
    const hn::Rebind<Index, D> narrow;
    const auto wide = hn::PromoteTo(DI(), hn::LoadU(narrow, at));
    const auto found = wide == hn::Set(DI(), static_cast<std::int32_t>(index));
    return hn::IfThenElseZero(hn::RebindMask(D(), found), value);
  }
};
#endif  // SHOAL_SIMD

template <class L, class Lanes, class Index>
HWY_INLINE void StoreIndices(Lanes lanes, typename L::F index, Index* to) {
  if (lanes.count() == L::kLanes) {
    L::StoreIndex(index, to);
  } else {
    Index all[L::kLanes];
    L::StoreIndex(index, all);
    for (std::size_t i = 0; i < lanes.count() && i < L::kLanes; ++i) to[i] = all[i];
  }
}

template <class L, class Lanes, class Index>
HWY_INLINE typename L::F WhereIndices(Lanes lanes, const Index* at, std::size_t index,
                                      typename L::F value) {
  if (lanes.count() == L::kLanes) return L::WhereIndex(at, index, value);
  Index all[L::kLanes] = {};
  for (std::size_t i = 0; i < lanes.count() && i < L::kLanes; ++i) all[i] = at[i];
  return L::WhereIndex(all, index, value);
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
