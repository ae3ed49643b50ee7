// QuantTileOf's Isa for 64-bit ARM. Dot4::Add(sums, w, x) adds to each of four sums the dot product
// of four bytes: one instruction where there are dot products, a few elsewhere.
#if defined(SHOAL_KERNELS_QUANT_ISA_ARM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_KERNELS_QUANT_ISA_ARM_INL_H
#undef SHOAL_KERNELS_QUANT_ISA_ARM_INL_H
#else
#define SHOAL_KERNELS_QUANT_ISA_ARM_INL_H
#endif

#include <arm_neon.h>

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {

struct WidenedDot4 {
  static HWY_INLINE int32x4_t Add(int32x4_t sums, int8x16_t w, int8x16_t x) {
    const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(w), vget_low_s8(x)));
    const int32x4_t high = vpaddlq_s16(vmull_high_s8(w, x));
    return vaddq_s32(sums, vpaddq_s32(low, high));
  }
};

template <class Dot4>
struct QuantNeon {
  struct F {
    float32x4_t v[2];
  };
  struct I {
    int32x4_t v[2];
  };

  static HWY_INLINE F ZeroF() { return SetF(0); }
  static HWY_INLINE I ZeroI() { return SetI(0); }
  static HWY_INLINE F SetF(float value) { return {{vdupq_n_f32(value), vdupq_n_f32(value)}}; }
  static HWY_INLINE I SetI(int value) { return {{vdupq_n_s32(value), vdupq_n_s32(value)}}; }
  static HWY_INLINE F LoadF16(const std::uint8_t* from) {
    const float16x8_t halves = vreinterpretq_f16_u8(vld1q_u8(from));
    return {{vcvt_f32_f16(vget_low_f16(halves)), vcvt_high_f32_f16(halves)}};
  }
  static HWY_INLINE F Float(I value) {
    return {{vcvtq_f32_s32(value.v[0]), vcvtq_f32_s32(value.v[1])}};
  }
  static HWY_INLINE F Mul(F a, F b) {
    return {{vmulq_f32(a.v[0], b.v[0]), vmulq_f32(a.v[1], b.v[1])}};
  }
  static HWY_INLINE F Fma(F a, F b, F c) {
    return {{vfmaq_f32(c.v[0], a.v[0], b.v[0]), vfmaq_f32(c.v[1], a.v[1], b.v[1])}};
  }
  static HWY_INLINE F NegativeFma(F a, F b, F c) {
    return {{vfmsq_f32(c.v[0], a.v[0], b.v[0]), vfmsq_f32(c.v[1], a.v[1], b.v[1])}};
  }
  static HWY_INLINE I Sub(I a, I b) {
    return {{vsubq_s32(a.v[0], b.v[0]), vsubq_s32(a.v[1], b.v[1])}};
  }
  template <int kBy>
  static HWY_INLINE I ShiftLeft(I a) {
    return {{vshlq_n_s32(a.v[0], kBy), vshlq_n_s32(a.v[1], kBy)}};
  }
  static HWY_INLINE void StoreCanonical(F value, float* to) {
    const float32x4_t nan = vreinterpretq_f32_u32(vdupq_n_u32(0x7fc00000));
    for (int half = 0; half < 2; ++half) {
      const uint32x4_t ordered = vceqq_f32(value.v[half], value.v[half]);
      vst1q_f32(to + 4 * half, vbslq_f32(ordered, value.v[half], nan));
    }
  }

  template <int kColumns>
  static HWY_INLINE void SumU4(const std::uint8_t* w, const std::int8_t* const* q, I* sums) {
    HWY_UNROLL(8)
    for (int c = 0; c < kColumns; ++c) sums[c] = ZeroI();
    HWY_UNROLL(4)
    for (int v = 0; v < 4; ++v) AddNibbles<kColumns>(w + 32 * v, q, 8 * v, sums);
  }

  template <int kColumns>
  static HWY_INLINE void SumI8(const std::uint8_t* w, const std::int8_t* const* q, I* sums) {
    HWY_UNROLL(8)
    for (int c = 0; c < kColumns; ++c) sums[c] = ZeroI();
    HWY_UNROLL(8)
    for (int step = 0; step < 8; ++step) {
      AddStep<kColumns>(LoadStep(w + 32 * step), q, 4 * step, sums);
    }
  }

  template <int kColumns>
  static HWY_INLINE void AddU4(const std::uint8_t* w, const std::uint8_t* scales,
                               const std::int8_t* const* q, I* sums) {
    for (int half = 0; half < 2; ++half) {
      const std::int8_t* later[kColumns];
      for (int c = 0; c < kColumns; ++c) later[c] = q[c] + 32 * half;
      I parts[kColumns];
      SumU4<kColumns>(w + 128 * half, later, parts);
      AddScaled<kColumns>(parts, LoadScales(scales, half), sums);
    }
  }

  template <int kColumns>
  static HWY_INLINE void AddU6(const std::uint8_t* low, const std::uint8_t* high,
                               const std::uint8_t* scales, const std::int8_t* const* q, I* sums) {
    for (int half = 0; half < 2; ++half) {
      I parts[kColumns];
      for (int c = 0; c < kColumns; ++c) parts[c] = ZeroI();
      HWY_UNROLL(4)
      for (int step = 0; step < 4; ++step) {
        const Step weights = {{SixBits(low + 64 * half, high + 32 * half, step, 0),
                               SixBits(low + 64 * half, high + 32 * half, step, 1)}};
        AddStep<kColumns>(weights, q, 16 * half + 4 * step, parts);
      }
      AddScaled<kColumns>(parts, LoadScales(scales, half), sums);
    }
  }

  template <int kColumns>
  static HWY_INLINE void AddI8(const std::uint8_t* w, const std::uint8_t* scales,
                               const std::int8_t* const* q, I* sums) {
    for (int half = 0; half < 2; ++half) {
      I parts[kColumns];
      for (int c = 0; c < kColumns; ++c) parts[c] = ZeroI();
      HWY_UNROLL(4)
      for (int step = 4 * half; step < 4 * half + 4; ++step) {
        AddStep<kColumns>(LoadStep(w + 32 * step), q, 4 * step, parts);
      }
      AddScaled<kColumns>(parts, LoadScales(scales, half), sums);
    }
  }

  static HWY_INLINE I AddPairs(I sum, const std::uint8_t* pairs, int first, int second) {
    const I a = LoadScales(pairs, 0);
    const I b = LoadScales(pairs, 1);
    for (int half = 0; half < 2; ++half) {
      sum.v[half] = vmlaq_n_s32(sum.v[half], a.v[half], first);
      sum.v[half] = vmlaq_n_s32(sum.v[half], b.v[half], second);
    }
    return sum;
  }

 private:
  // Four k of rows 0 to 3, and of rows 4 to 7.
  struct Step {
    int8x16_t v[2];
  };

  static HWY_INLINE Step LoadStep(const std::uint8_t* from) {
    return {{vreinterpretq_s8_u8(vld1q_u8(from)), vreinterpretq_s8_u8(vld1q_u8(from + 16))}};
  }

  // The first or second of each row's pair of signed bytes.
  static HWY_INLINE I LoadScales(const std::uint8_t* pairs, int which) {
    const int8x16_t bytes = vreinterpretq_s8_u8(vld1q_u8(pairs));
    const int8x16_t chosen = which == 0 ? vuzp1q_s8(bytes, bytes) : vuzp2q_s8(bytes, bytes);
    const int16x8_t wide = vmovl_s8(vget_low_s8(chosen));
    return {{vmovl_s16(vget_low_s16(wide)), vmovl_high_s16(wide)}};
  }

  template <int kColumns>
  static HWY_INLINE void AddScaled(const I* parts, I scale, I* sums) {
    HWY_UNROLL(8)
    for (int c = 0; c < kColumns; ++c) {
      sums[c].v[0] = vmlaq_s32(sums[c].v[0], parts[c].v[0], scale.v[0]);
      sums[c].v[1] = vmlaq_s32(sums[c].v[1], parts[c].v[1], scale.v[1]);
    }
  }

  template <int kColumns>
  static HWY_INLINE void AddStep(Step weights, const std::int8_t* const* q, int k, I* sums) {
    HWY_UNROLL(8)
    for (int c = 0; c < kColumns; ++c) {
      std::int32_t four = 0;
      std::memcpy(&four, q[c] + k, sizeof four);
      const int8x16_t x = vreinterpretq_s8_s32(vdupq_n_s32(four));
      sums[c].v[0] = Dot4::Add(sums[c].v[0], weights.v[0], x);
      sums[c].v[1] = Dot4::Add(sums[c].v[1], weights.v[1], x);
    }
  }

  template <int kColumns>
  static HWY_INLINE void AddNibbles(const std::uint8_t* w, const std::int8_t* const* q, int k,
                                    I* sums) {
    const uint8x16_t first = vld1q_u8(w);
    const uint8x16_t second = vld1q_u8(w + 16);
    const uint8x16_t mask = vdupq_n_u8(15);
    const Step low = {
        {vreinterpretq_s8_u8(vandq_u8(first, mask)), vreinterpretq_s8_u8(vandq_u8(second, mask))}};
    const Step high = {
        {vreinterpretq_s8_u8(vshrq_n_u8(first, 4)), vreinterpretq_s8_u8(vshrq_n_u8(second, 4))}};
    AddStep<kColumns>(low, q, k, sums);
    AddStep<kColumns>(high, q, k + 4, sums);
  }

  static HWY_INLINE int8x16_t SixBits(const std::uint8_t* low, const std::uint8_t* high, int step,
                                      int rows) {
    const uint8x16_t nibbles = vld1q_u8(low + 32 * (step / 2) + 16 * rows);
    const uint8x16_t four =
        step % 2 == 0 ? vandq_u8(nibbles, vdupq_n_u8(15)) : vshrq_n_u8(nibbles, 4);
    const int8x16_t shift = vdupq_n_s8(static_cast<std::int8_t>(4 - 2 * step));
    const uint8x16_t two = vandq_u8(vshlq_u8(vld1q_u8(high + 16 * rows), shift), vdupq_n_u8(0x30));
    return vreinterpretq_s8_u8(vorrq_u8(four, two));
  }
};

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
