// Copies that put op(A) and op(B) into the order in which the tiles read them.
// Included once per target by gemm_kernel.cc.
#if defined(SHOAL_KERNELS_GEMM_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_KERNELS_GEMM_PACK_INL_H
#undef SHOAL_KERNELS_GEMM_PACK_INL_H
#else
#define SHOAL_KERNELS_GEMM_PACK_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// out[r * out_stride + c] = in[r * in_stride + c]
inline void CopyRows(const float* HWY_RESTRICT in, std::size_t in_stride, std::size_t rows,
                     std::size_t columns, float* HWY_RESTRICT out, std::size_t out_stride) {
  const hn::CappedTag<float, 16> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t r = 0; r < rows; ++r) {
    std::size_t c = 0;
    for (; c + lanes <= columns; c += lanes) hn::StoreU(hn::LoadU(d, in + c), d, out + c);
    if (c < columns && columns > lanes) {  // Some floats twice, rather than one by one.
      c = columns - lanes;
      hn::StoreU(hn::LoadU(d, in + c), d, out + c);
      c = columns;
    }
    for (; c < columns; ++c) out[c] = in[c];
    in += in_stride;
    out += out_stride;
  }
}

// A vector of 4-float pieces from rows 0, 4, 8, … of `in`.
template <class D>
HWY_INLINE hn::Vec<D> LoadEveryFourthRow(D d, const float* in, std::size_t stride) {
  if constexpr (hn::MaxLanes(d) == 4) {
    (void)stride;
    return hn::LoadU(d, in);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, LoadEveryFourthRow(half, in + hn::MaxLanes(d) / 2 * stride, stride),
                       LoadEveryFourthRow(half, in, stride));
  }
}

// A vector's worth of rows, 4 columns: each 128-bit block holds a 4 × 4 matrix of
// its own, so that no shuffle crosses blocks (those cost three times as much).
template <class D>
HWY_INLINE void TransposeFourColumns(D d, const float* HWY_RESTRICT in, std::size_t in_stride,
                                     float* HWY_RESTRICT out, std::size_t out_stride) {
  const hn::Repartition<double, D> d2;
  const auto r0 = LoadEveryFourthRow(d, in, in_stride);
  const auto r1 = LoadEveryFourthRow(d, in + in_stride, in_stride);
  const auto r2 = LoadEveryFourthRow(d, in + 2 * in_stride, in_stride);
  const auto r3 = LoadEveryFourthRow(d, in + 3 * in_stride, in_stride);
  const auto low01 = hn::BitCast(d2, hn::InterleaveLower(d, r0, r1));
  const auto high01 = hn::BitCast(d2, hn::InterleaveUpper(d, r0, r1));
  const auto low23 = hn::BitCast(d2, hn::InterleaveLower(d, r2, r3));
  const auto high23 = hn::BitCast(d2, hn::InterleaveUpper(d, r2, r3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d2, low01, low23)), d, out);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d2, low01, low23)), d, out + out_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d2, high01, high23)), d, out + 2 * out_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d2, high01, high23)), d, out + 3 * out_stride);
}

// out[c * out_stride + r] = in[r * in_stride + c]
inline void Transpose(const float* HWY_RESTRICT in, std::size_t in_stride, std::size_t rows,
                      std::size_t columns, float* HWY_RESTRICT out, std::size_t out_stride) {
  const hn::CappedTag<float, 16> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t r = 0;
  for (; r + lanes <= rows; r += lanes) {
    const float* HWY_RESTRICT in_row = in + r * in_stride;
    std::size_t c = 0;
    for (; c + 4 <= columns; c += 4) {
      TransposeFourColumns(d, in_row + c, in_stride, out + c * out_stride + r, out_stride);
    }
    for (; c < columns; ++c) {
      for (std::size_t i = 0; i < lanes; ++i)
        out[c * out_stride + r + i] = in_row[i * in_stride + c];
    }
  }
  for (; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) out[c * out_stride + r] = in[r * in_stride + c];
  }
}

// Copies kCount floats, with the fewest vectors.
template <std::size_t kCount>
HWY_INLINE void CopyFew(const float* HWY_RESTRICT in, float* HWY_RESTRICT out) {
  constexpr std::size_t kLanesMax = hn::MaxLanes(hn::CappedTag<float, 16>());
  constexpr std::size_t kPart = kCount >= 16 && kLanesMax >= 16 ? 16
                                : kCount >= 8 && kLanesMax >= 8 ? 8
                                : kCount >= 4                   ? 4
                                : kCount >= 2                   ? 2
                                                                : 1;
  const hn::CappedTag<float, kPart> d;
  hn::StoreU(hn::LoadU(d, in), d, out);
  if constexpr (kCount > kPart) CopyFew<kCount - kPart>(in + kPart, out + kPart);
}

// Columns into panels of kWidth, out_stride floats apart: p = c / kWidth,
// out[p * out_stride + r * kWidth + c % kWidth] = in[r * in_stride + c]
template <std::size_t kWidth>
void PackColumns(const float* HWY_RESTRICT in, std::size_t in_stride, std::size_t rows,
                 std::size_t columns, float* HWY_RESTRICT out, std::size_t out_stride) {
  for (std::size_t r = 0; r < rows; ++r) {
    float* HWY_RESTRICT to = out + r * kWidth;
    std::size_t c = 0;
    for (; c + kWidth <= columns; c += kWidth, to += out_stride) CopyFew<kWidth>(in + c, to);
    for (std::size_t i = c; i < columns; ++i) to[i - c] = in[i];
    in += in_stride;
  }
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
