// QuantTileOf's Isa for AVX2. Products of unsigned weights and signed activations are added in
// pairs to 16 bits by one instruction; since weights have 4 (6) bits, eight (two) such vectors can
// be added before 16 bits overflow, and widening to 32 bits multiplies by the sub-scale for free.
#if defined(SHOAL_KERNELS_QUANT_ISA_X86_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_KERNELS_QUANT_ISA_X86_INL_H
#undef SHOAL_KERNELS_QUANT_ISA_X86_INL_H
#else
#define SHOAL_KERNELS_QUANT_ISA_X86_INL_H
#endif

#include <immintrin.h>

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {

struct QuantAvx2 {
  using F = __m256;
  using I = __m256i;

  static HWY_INLINE F ZeroF() { return _mm256_setzero_ps(); }
  static HWY_INLINE I ZeroI() { return _mm256_setzero_si256(); }
  static HWY_INLINE F SetF(float value) { return _mm256_set1_ps(value); }
  static HWY_INLINE I SetI(int value) { return _mm256_set1_epi32(value); }
  static HWY_INLINE F LoadF16(const std::uint8_t* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static HWY_INLINE F Float(I value) { return _mm256_cvtepi32_ps(value); }
  static HWY_INLINE F Mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static HWY_INLINE F Fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static HWY_INLINE F NegativeFma(F a, F b, F c) { return _mm256_fnmadd_ps(a, b, c); }
  static HWY_INLINE I Sub(I a, I b) { return _mm256_sub_epi32(a, b); }
  template <int kBy>
  static HWY_INLINE I ShiftLeft(I a) {
    return _mm256_slli_epi32(a, kBy);
  }
  static HWY_INLINE void StoreCanonical(F value, float* to) {
    const F nan = _mm256_castsi256_ps(SetI(0x7fc00000));
    const F ordered = _mm256_cmp_ps(value, value, _CMP_ORD_Q);
    _mm256_storeu_ps(to, _mm256_blendv_ps(nan, value, ordered));
  }

  template <int kColumns>
  static HWY_INLINE void SumU4(const std::uint8_t* w, const std::int8_t* const* q, I* sums) {
    I pairs[kColumns];
    PairsU4<kColumns>(w, q, 0, pairs);
    HWY_UNROLL(8)
    for (int c = 0; c < kColumns; ++c) {
      sums[c] = _mm256_madd_epi16(pairs[c], _mm256_set1_epi16(1));
    }
  }

  template <int kColumns>
  static HWY_INLINE void SumI8(const std::uint8_t* w, const std::int8_t* const* q, I* sums) {
    HWY_UNROLL(8)
    for (int c = 0; c < kColumns; ++c) sums[c] = ZeroI();
    HWY_UNROLL(8)
    for (int step = 0; step < 8; ++step) AddStepI8<kColumns>(w, q, step, sums);
  }

  // 64 k, 32 with the first scale of each pair and 32 with the second.
  template <int kColumns>
  static HWY_INLINE void AddU4(const std::uint8_t* w, const std::uint8_t* scales,
                               const std::int8_t* const* q, I* sums) {
    const I pair = LoadPairs(scales);
    I products[kColumns];
    PairsU4<kColumns>(w, q, 0, products);
    HWY_UNROLL(8)
    for (int c = 0; c < kColumns; ++c) {
      sums[c] = _mm256_add_epi32(sums[c], _mm256_madd_epi16(products[c], First(pair)));
    }
    PairsU4<kColumns>(w + 128, q, 32, products);
    HWY_UNROLL(8)
    for (int c = 0; c < kColumns; ++c) {
      sums[c] = _mm256_add_epi32(sums[c], _mm256_madd_epi16(products[c], Second(pair)));
    }
  }

  // 32 k, 16 with the first scale of each pair and 16 with the second.
  template <int kColumns>
  static HWY_INLINE void AddU6(const std::uint8_t* low, const std::uint8_t* high,
                               const std::uint8_t* scales, const std::int8_t* const* q, I* sums) {
    const I pair = LoadPairs(scales);
    AddSubBlockU6<kColumns>(low, high, First(pair), q, 0, sums);
    AddSubBlockU6<kColumns>(low + 64, high + 32, Second(pair), q, 16, sums);
  }

  template <int kColumns>
  static HWY_INLINE void AddI8(const std::uint8_t* w, const std::uint8_t* scales,
                               const std::int8_t* const* q, I* sums) {
    const I pair = LoadPairs(scales);
    HWY_UNROLL(8)
    for (int half = 0; half < 2; ++half) {
      // Sign-extended to 32 bits: sums of 16 products do not fit 16.
      const I scale = half == 0 ? _mm256_srai_epi32(_mm256_slli_epi32(pair, 16), 16)
                                : _mm256_srai_epi32(pair, 16);
      I parts[kColumns];
      HWY_UNROLL(8)
      for (int c = 0; c < kColumns; ++c) parts[c] = ZeroI();
      HWY_UNROLL(8)
      for (int step = 0; step < 4; ++step) AddStepI8<kColumns>(w, q, 4 * half + step, parts);
      HWY_UNROLL(8)
      for (int c = 0; c < kColumns; ++c) {
        sums[c] = _mm256_add_epi32(sums[c], _mm256_mullo_epi32(parts[c], scale));
      }
    }
  }

  static HWY_INLINE I AddPairs(I sum, const std::uint8_t* pairs, int first, int second) {
    const auto both =
        (static_cast<std::uint32_t>(first) & 0xffffU) | (static_cast<std::uint32_t>(second) << 16U);
    const I factors = SetI(static_cast<int>(both));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(LoadPairs(pairs), factors));
  }

 private:
  // The compiler may not put an addition off: GCC would do all of a block's at its end, and spill
  // the vectors to be added until then, which took a third of the time.
  static HWY_INLINE void AddNow(I& sum) { __asm__("" : "+x"(sum)); }

  static HWY_INLINE I Load(const std::uint8_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const I*>(from));
  }
  static HWY_INLINE I Broadcast(const std::int8_t* from) {
    std::int32_t four;
    std::memcpy(&four, from, sizeof four);
    return _mm256_set1_epi32(four);
  }
  // Small integers are below 128 whether they are signed or not.
  static HWY_INLINE I LoadPairs(const std::uint8_t* from) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static HWY_INLINE I First(I pair) {
    return _mm256_or_si256(_mm256_and_si256(pair, SetI(0xffff)), _mm256_slli_epi32(pair, 16));
  }
  static HWY_INLINE I Second(I pair) {
    const I high = _mm256_srli_epi32(pair, 16);
    return _mm256_or_si256(_mm256_slli_epi32(high, 16), high);
  }

  // 32 k: at most 16 products of at most 15 * 127 in each 16 bits.
  template <int kColumns>
  static HWY_INLINE void PairsU4(const std::uint8_t* w, const std::int8_t* const* q, int k,
                                 I* pairs) {
    const I mask = _mm256_set1_epi8(15);
    HWY_UNROLL(8)
    for (int c = 0; c < kColumns; ++c) pairs[c] = ZeroI();
    HWY_UNROLL(8)
    for (int v = 0; v < 4; ++v) {
      const I nibbles = Load(w + 32 * v);
      const I low = _mm256_and_si256(nibbles, mask);
      const I high = _mm256_and_si256(_mm256_srli_epi16(nibbles, 4), mask);
      HWY_UNROLL(8)
      for (int c = 0; c < kColumns; ++c) {
        const I first = _mm256_maddubs_epi16(low, Broadcast(q[c] + k + 8 * v));
        const I second = _mm256_maddubs_epi16(high, Broadcast(q[c] + k + 8 * v + 4));
        pairs[c] = _mm256_add_epi16(pairs[c], _mm256_add_epi16(first, second));
        AddNow(pairs[c]);
      }
    }
  }

  // 16 k: sums of two vectors, 4 * 63 * 127 in each 16 bits.
  template <int kColumns>
  static HWY_INLINE void AddSubBlockU6(const std::uint8_t* low, const std::uint8_t* high, I scale,
                                       const std::int8_t* const* q, int k, I* sums) {
    const I mask = _mm256_set1_epi8(15);
    const I mask_high = _mm256_set1_epi8(0x30);
    const I bits = Load(high);
    const I nibbles[2] = {Load(low), Load(low + 32)};
    const I highs[4] = {_mm256_slli_epi16(bits, 4), _mm256_slli_epi16(bits, 2), bits,
                        _mm256_srli_epi16(bits, 2)};
    HWY_UNROLL(8)
    for (int half = 0; half < 2; ++half) {
      const I first = _mm256_or_si256(_mm256_and_si256(nibbles[half], mask),
                                      _mm256_and_si256(highs[2 * half], mask_high));
      const I second = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(nibbles[half], 4), mask),
                                       _mm256_and_si256(highs[2 * half + 1], mask_high));
      HWY_UNROLL(8)
      for (int c = 0; c < kColumns; ++c) {
        const std::int8_t* at = q[c] + k + 8 * half;
        const I pairs = _mm256_add_epi16(_mm256_maddubs_epi16(first, Broadcast(at)),
                                         _mm256_maddubs_epi16(second, Broadcast(at + 4)));
        sums[c] = _mm256_add_epi32(sums[c], _mm256_madd_epi16(pairs, scale));
        AddNow(sums[c]);
      }
    }
  }

  // 4 k. Products of signed bytes: the weight's sign goes to the activation, which is never -128.
  template <int kColumns>
  static HWY_INLINE void AddStepI8(const std::uint8_t* w, const std::int8_t* const* q, int step,
                                   I* sums) {
    const I weights = Load(w + 32 * step);
    const I sizes = _mm256_abs_epi8(weights);
    HWY_UNROLL(8)
    for (int c = 0; c < kColumns; ++c) {
      const I signed_q = _mm256_sign_epi8(Broadcast(q[c] + 4 * step), weights);
      const I pairs = _mm256_maddubs_epi16(sizes, signed_q);
      sums[c] = _mm256_add_epi32(sums[c], _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
      AddNow(sums[c]);
    }
  }
};

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
