#include "kernels/convert.h"

// The order is what makes foreach_target work.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convert.cc"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstddef>

#include "kernels/chunks.h"
#include "kernels/float16.h"
#include "kernels/lanes-inl.h"
#include "kernels/math-inl.h"

#if SHOAL_SIMD
HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {
namespace {

using V = VectorF32;
using D16 = hn::Rebind<std::uint16_t, V::D>;

// Processors agree on F16 but for the NaN, which is settled before or after.
struct ToF16 {
  static HWY_INLINE hn::Vec<D16> Run(V::F x) {
    const hn::Rebind<hwy::float16_t, V::D> half;
    return hn::BitCast(D16(), hn::DemoteTo(half, Canonical<V>(x)));
  }
};

struct FromF16 {
  static HWY_INLINE V::F Run(hn::Vec<D16> bits) {
    const hn::Rebind<hwy::float16_t, V::D> half;
    return Canonical<V>(hn::PromoteTo(V::D(), hn::BitCast(half, bits)));
  }
};

// Adding 0x7fff, and one more if the kept part is odd, carries into it exactly when it must round
// up; the one NaN has nothing below the kept part.
struct ToBF16 {
  static HWY_INLINE hn::Vec<D16> Run(V::F x) {
    const auto bits = V::Bits(Canonical<V>(x));
    const auto odd = V::Shr<16>(bits) & V::SetU(1U);
    const auto rounded = V::Shr<16>(bits + odd + V::SetU(0x7fffU));
    return hn::DemoteTo(D16(), hn::BitCast(hn::RebindToSigned<V::D>(), rounded));
  }
};

struct FromBF16 {
  static HWY_INLINE V::F Run(hn::Vec<D16> bits) {
    return Canonical<V>(V::FromBits(V::Shl<16>(hn::PromoteTo(V::DU(), bits))));
  }
};

template <class Conversion, class From, class To>
HWY_INLINE void Convert(const From* x, To* y, std::size_t n) {
  const hn::Rebind<From, V::D> from;
  const hn::Rebind<To, V::D> to;
  std::size_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) {
    hn::StoreU(Conversion::Run(hn::LoadU(from, x + i)), to, y + i);
  }
  if (i < n) {
    From in[V::kLanes] = {};
    To out[V::kLanes];
    std::memcpy(in, x + i, (n - i) * sizeof(From));
    hn::StoreU(Conversion::Run(hn::LoadU(from, in)), to, out);
    std::memcpy(y + i, out, (n - i) * sizeof(To));
  }
}

}  // namespace

void VectorF16FromF32(const float* x, std::uint16_t* y, std::size_t n) { Convert<ToF16>(x, y, n); }
void VectorF32FromF16(const std::uint16_t* x, float* y, std::size_t n) {
  Convert<FromF16>(x, y, n);
}
void VectorBF16FromF32(const float* x, std::uint16_t* y, std::size_t n) {
  Convert<ToBF16>(x, y, n);
}
void VectorF32FromBF16(const std::uint16_t* x, float* y, std::size_t n) {
  Convert<FromBF16>(x, y, n);
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // SHOAL_SIMD

#if HWY_ONCE
namespace shoal::kernels {
namespace {

using NarrowKernel = void(const float*, std::uint16_t*, std::size_t);
using WidenKernel = void(const std::uint16_t*, float*, std::size_t);

template <auto kConvert, class From, class To>
void Ref(const From* x, To* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = kConvert(x[i]);
}

constexpr Implementation<NarrowKernel> kF16FromF32[] = {
    SHOAL_SIMD_ROWS(NarrowKernel, VectorF16FromF32){Target::kRef, &Ref<&F16FromFloat>}};
constexpr Implementation<WidenKernel> kF32FromF16[] = {
    SHOAL_SIMD_ROWS(WidenKernel, VectorF32FromF16){Target::kRef, &Ref<&FloatFromF16>}};
constexpr Implementation<NarrowKernel> kBF16FromF32[] = {
    SHOAL_SIMD_ROWS(NarrowKernel, VectorBF16FromF32){Target::kRef, &Ref<&BF16FromFloat>}};
constexpr Implementation<WidenKernel> kF32FromBF16[] = {
    SHOAL_SIMD_ROWS(WidenKernel, VectorF32FromBF16){Target::kRef, &Ref<&FloatFromBF16>}};

template <class From, class To>
void Run(void (*kernel)(const From*, To*, std::size_t), std::span<const From> x, std::span<To> y,
         Parallel& parallel) {
  SHOAL_CHECK_EQ(x.size(), y.size());
  ForChunks(x.size(), kElementsPerTask, parallel, [&](std::size_t begin, std::size_t end) {
    kernel(x.data() + begin, y.data() + begin, end - begin);
  });
}

}  // namespace

void F16FromF32(std::span<const float> x, std::span<std::uint16_t> y, Parallel& parallel,
                Target target) {
  Run(Choose<NarrowKernel>(kF16FromF32, target), x, y, parallel);
}
void F32FromF16(std::span<const std::uint16_t> x, std::span<float> y, Parallel& parallel,
                Target target) {
  Run(Choose<WidenKernel>(kF32FromF16, target), x, y, parallel);
}
void BF16FromF32(std::span<const float> x, std::span<std::uint16_t> y, Parallel& parallel,
                 Target target) {
  Run(Choose<NarrowKernel>(kBF16FromF32, target), x, y, parallel);
}
void F32FromBF16(std::span<const std::uint16_t> x, std::span<float> y, Parallel& parallel,
                 Target target) {
  Run(Choose<WidenKernel>(kF32FromBF16, target), x, y, parallel);
}

}  // namespace shoal::kernels
#endif  // HWY_ONCE
