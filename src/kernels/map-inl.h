// Map: an operation on vectors applied along arrays. What it stores is canonical (no NaN but
// 0x7fc00000); the last, partial vector is worked on in full and stored in part.
#if defined(SHOAL_KERNELS_MAP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_KERNELS_MAP_INL_H
#undef SHOAL_KERNELS_MAP_INL_H
#else
#define SHOAL_KERNELS_MAP_INL_H
#endif

#include "kernels/lanes-inl.h"
#include "kernels/math-inl.h"

#if SHOAL_SIMD
HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {

// y[i] = op(x[i]...) for i < n. An input may be y itself.
template <class Op, class... Inputs>
HWY_INLINE void Map(const Op& op, std::size_t n, float* y, const Inputs*... x) {
  using V = VectorF32;
  std::size_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) {
    V::Store(Canonical<V>(op(V::Load(x + i)...)), y + i);
  }
  if (i < n) {
    V::StoreSome(Canonical<V>(op(V::LoadSome(x + i, n - i, 0.0F)...)), y + i, n - i);
  }
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // SHOAL_SIMD

#endif  // per-target include guard
