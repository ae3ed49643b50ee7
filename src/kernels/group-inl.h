// A group of 16 lanes as vectors of the target: scalar_group.h says what is computed with it.
#if defined(SHOAL_KERNELS_GROUP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_KERNELS_GROUP_INL_H
#undef SHOAL_KERNELS_GROUP_INL_H
#else
#define SHOAL_KERNELS_GROUP_INL_H
#endif

#include <cstdint>
#include <limits>

#include "kernels/lanes-inl.h"
#include "kernels/scalar_group.h"

#if SHOAL_SIMD
HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {

struct Group {
  static constexpr std::size_t kVectors = kGroupLanes / VectorF32::kLanes;
  VectorF32::F v[kVectors];
};

HWY_INLINE Group SetGroup(float value) {
  Group group;
  HWY_UNROLL(4) for (auto& vector : group.v) vector = VectorF32::Set(value);
  return group;
}

HWY_INLINE Group LoadGroup(const float* from) {
  Group group;
  HWY_UNROLL(4) for (std::size_t i = 0; i < Group::kVectors; ++i) {
    group.v[i] = VectorF32::Load(from + i * VectorF32::kLanes);
  }
  return group;
}

// From the bits of F16 numbers, which floats hold exactly.
HWY_INLINE Group LoadGroup(const std::uint16_t* from) {
  const hn::Rebind<std::uint16_t, VectorF32::D> bits;
  const hn::Rebind<hwy::float16_t, VectorF32::D> half;
  Group group;
  HWY_UNROLL(4) for (std::size_t i = 0; i < Group::kVectors; ++i) {
    const auto loaded = hn::LoadU(bits, from + i * VectorF32::kLanes);
    group.v[i] = hn::PromoteTo(VectorF32::D(), hn::BitCast(half, loaded));
  }
  return group;
}

HWY_INLINE void StoreGroup(const Group& group, float* to) {
  HWY_UNROLL(4) for (std::size_t i = 0; i < Group::kVectors; ++i) {
    VectorF32::Store(group.v[i], to + i * VectorF32::kLanes);
  }
}

// The last `count` < 16 elements of an array, then `fill`.
template <class T>
HWY_INLINE Group LoadSomeGroup(const T* from, std::size_t count, T fill) {
  T lanes[kGroupLanes];
  for (T& lane : lanes) lane = fill;
  std::memcpy(lanes, from, count * sizeof(T));
  return LoadGroup(lanes);
}

HWY_INLINE void AddTo(Group& sum, const Group& x) {
  HWY_UNROLL(4) for (std::size_t i = 0; i < Group::kVectors; ++i) sum.v[i] = sum.v[i] + x.v[i];
}

HWY_INLINE void AddProductTo(Group& sum, const Group& x, const Group& y) {
  HWY_UNROLL(4) for (std::size_t i = 0; i < Group::kVectors; ++i) {
    sum.v[i] = VectorF32::Fma(x.v[i], y.v[i], sum.v[i]);
  }
}

// MaxOrNaN in each lane.
HWY_INLINE void MaxTo(Group& max, const Group& x) {
  HWY_UNROLL(4) for (std::size_t i = 0; i < Group::kVectors; ++i) {
    const auto larger = hn::Or(max.v[i] < x.v[i], hn::IsNaN(x.v[i]));
    max.v[i] = VectorF32::Select(larger, x.v[i], max.v[i]);
  }
}

template <class D>
HWY_INLINE float TreeOfLanes(D /*d*/, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    return hn::GetLane(v);
  } else {
    const hn::Half<D> half;
    return TreeOfLanes(half, hn::LowerHalf(half, v) + hn::UpperHalf(half, v));
  }
}

HWY_INLINE float Tree(const Group& group) {
  if constexpr (Group::kVectors == 4) {  // Lanes 8 apart first, then 4 apart.
    return TreeOfLanes(VectorF32::D(), (group.v[0] + group.v[2]) + (group.v[1] + group.v[3]));
  } else if constexpr (Group::kVectors == 2) {
    return TreeOfLanes(VectorF32::D(), group.v[0] + group.v[1]);
  } else {
    return TreeOfLanes(VectorF32::D(), group.v[0]);
  }
}

// NaN if there is one; -infinity for n = 0.
HWY_INLINE float MaxOf(const float* x, std::size_t n) {
  const float lowest = -std::numeric_limits<float>::infinity();
  Group max = SetGroup(lowest);
  std::size_t i = 0;
  for (; i + kGroupLanes <= n; i += kGroupLanes) MaxTo(max, LoadGroup(x + i));
  if (i < n) MaxTo(max, LoadSomeGroup(x + i, n - i, lowest));
  float lanes[kGroupLanes];
  StoreGroup(max, lanes);
  float result = lowest;
  for (const float lane : lanes) result = MaxOrNaN(result, lane);
  return result;
}

// The dot product of two arrays, or of one with itself; F16 or F32.
template <class T>
HWY_INLINE float DotOf(const T* x, const float* y, std::size_t n) {
  Group sum = SetGroup(0.0F);
  std::size_t i = 0;
  for (; i + kGroupLanes <= n; i += kGroupLanes)
    AddProductTo(sum, LoadGroup(x + i), LoadGroup(y + i));
  if (i < n) {
    AddProductTo(sum, LoadSomeGroup(x + i, n - i, T{0}), LoadSomeGroup(y + i, n - i, 0.0F));
  }
  return Tree(sum);
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // SHOAL_SIMD

#endif  // per-target include guard
