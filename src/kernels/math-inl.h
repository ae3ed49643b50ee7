// The definition of our elementary functions, written once over a set of operations
// (scalar_lanes.h) and compiled for plain C++ and for every target. Each function is a fixed
// sequence of operations whose results IEEE 754 defines to the last bit, so all of them give the
// same bits; math.h says how accurate these are.
//
// NaN results are whatever the operations produce until Canonical() has seen them; kernels call
// it before they store. Constants written in hexadecimal are exact; 1.0/6 and the like are the
// double nearest to the quotient.
#if defined(SHOAL_KERNELS_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_KERNELS_MATH_INL_H
#undef SHOAL_KERNELS_MATH_INL_H
#else
#define SHOAL_KERNELS_MATH_INL_H
#endif

// Highway's header must see which targets were chosen.
// clang-format off
#include "kernels/simd_targets.h"
#include <hwy/highway.h>
// clang-format on

#include <limits>

HWY_BEFORE_NAMESPACE();
namespace shoal::kernels::HWY_NAMESPACE {

// The one NaN we store: 0x7fc00000.
template <class L>
HWY_INLINE typename L::F Canonical(typename L::F x) {
  return L::Select(L::IsNaN(x), L::Set(std::numeric_limits<typename L::T>::quiet_NaN()), x);
}

// c0 + x * (c1 + x * (c2 + …)), a fused multiply-add per step, the highest power first.
template <class L, class... Ts>
HWY_INLINE typename L::F Horner(typename L::F x, typename L::T c0, Ts... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return L::Set(c0);
  } else {
    return L::Fma(Horner<L>(x, rest...), x, L::Set(c0));
  }
}

// Float32 -----------------------------------------------------------------------------------

inline constexpr float kLn2 = 0x1.62e430p-1F;        // The float nearest to ln 2,
inline constexpr float kLn2Rest = -0x1.05c610p-29F;  // and to what that lacks.
inline constexpr float kLog2E = 0x1.715476p+0F;

template <class L>
HWY_INLINE typename L::F Abs(typename L::F x) {
  return L::FromBits(L::Bits(x) & L::SetU(0x7fffffffU));
}

// exp(x) for x in [-104, 89] or NaN.
//   n = x / ln 2 rounded to an integer, as the low bits of a float near 1.5 * 2^23;
//   r = x - n ln 2 = exact + rest: the float nearest to ln 2 gives the exact part;
//   exp(r) = 1 + (exact + (rest + r^2 P(r))), P minimax on |r| <= 0.5015 ln 2, error 2^-28;
//   times 2^n as 2^floor(n/2) and 2^(n - floor(n/2)): the first product is exact, so a result
//   below 2^-126 is rounded once, and one above the largest float becomes infinite.
template <class L>
HWY_INLINE typename L::F ExpInRange(typename L::F x) {
  const auto shift = L::Set(0x1.8p23F);
  const auto shifted = L::Fma(x, L::Set(kLog2E), shift);
  const auto n = shifted - shift;
  const auto exact = L::Fma(n, L::Set(-kLn2), x);
  const auto rest = n * L::Set(-kLn2Rest);
  const auto r = exact + rest;
  const auto p =
      Horner<L>(r, 0x1.fffffcp-2F, 0x1.555490p-3F, 0x1.5558fcp-5F, 0x1.123b9ap-7F, 0x1.6a2154p-10F);
  const auto e = (exact + L::Fma(r * r, p, rest)) + L::Set(1.0F);
  // 512 keeps what is halved positive; 129 = 512 / 2 - 127, and 127 is a float's exponent bias.
  const auto biased = L::Bits(shifted) - L::SetU(0x4b400000U - 512U);
  const auto half = L::template Shr<1>(biased);
  const auto low = L::template Shl<23>(half - L::SetU(129U));
  const auto high = L::template Shl<23>(biased - half - L::SetU(129U));
  return (e * L::FromBits(low)) * L::FromBits(high);
}

// exp(x). Below -104 the result is 0 and above 89 infinite, as it is at these ends.
template <class L>
HWY_INLINE typename L::F Exp(typename L::F x) {
  const auto low = L::Set(-104.0F);
  const auto high = L::Set(89.0F);
  x = L::Select(x < low, low, x);
  return ExpInRange<L>(L::Select(high < x, high, x));
}

// ln(x).
//   x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), a subnormal x being scaled by 2^23 first;
//   ln(1 + f) = f - f^2/2 + f^3 Q(f), Q minimax, relative error 2^-30;
//   k ln 2 is added in two parts, the larger one last and fused.
template <class L>
HWY_INLINE typename L::F Log(typename L::F x) {
  const auto tiny = x < L::Set(0x1p-126F);
  const auto normal = L::Select(tiny, x * L::Set(0x1p23F), x);
  const auto root_half = L::SetU(0x3f3504f3U);  // The bits of sqrt(1/2).
  const auto moved = L::Bits(normal) + (L::SetU(0x3f800000U) - root_half);
  // The exponent becomes a float as the low bits of 2^23.
  const auto k = L::FromBits(L::template Shr<23>(moved) | L::SetU(0x4b000000U)) -
                 L::Select(tiny, L::Set(0x1p23F + 127 + 23), L::Set(0x1p23F + 127));
  const auto f = L::FromBits((moved & L::SetU(0x007fffffU)) + root_half) - L::Set(1.0F);
  const auto q =
      Horner<L>(f, 0x1.555546p-2F, -0x1.ffffeep-3F, 0x1.99a53ap-3F, -0x1.5562dcp-3F, 0x1.233378p-3F,
                -0x1.fb44aap-4F, 0x1.e64892p-4F, -0x1.e2dec8p-4F, 0x1.1b46a2p-4F);
  const auto square = f * f;
  const auto small = L::Fma(square, L::Set(-0.5F), k * L::Set(kLn2Rest));
  auto y = L::Fma(k, L::Set(kLn2), f + L::Fma(square * f, q, small));

  const auto infinity = L::Set(std::numeric_limits<float>::infinity());
  const auto zero = L::Set(0.0F);
  y = L::Select(x == infinity, infinity, y);
  y = L::Select(x == zero, zero - infinity, y);
  return L::Select(L::Or(x < zero, L::IsNaN(x)), L::Set(std::numeric_limits<float>::quiet_NaN()),
                   y);
}

// tanh(x) with the sign of x put back at the end; a = |x|.
//   a < 0.625: a + a^3 P(a^2), P minimax on a^2 <= 0.4, relative error 2^-27;
//   else 1 - 2 / (exp(2 a) + 1), with a at most 10 (from 9.02 on the result is 1).
template <class L>
HWY_INLINE typename L::F Tanh(typename L::F x) {
  const auto a = Abs<L>(x);
  const auto z = a * a;
  const auto p = Horner<L>(z, -0x1.555530p-2F, 0x1.110692p-3F, -0x1.b826b6p-5F, 0x1.518d04p-6F,
                           -0x1.7303c2p-8F);
  const auto near = L::Fma(a * z, p, a);
  const auto ten = L::Set(10.0F);
  const auto capped = L::Select(ten < a, ten, a);
  const auto one = L::Set(1.0F);
  const auto far = one - L::Set(2.0F) / (ExpInRange<L>(capped + capped) + one);
  const auto y = L::Select(a < L::Set(0.625F), near, far);
  return L::FromBits(L::Bits(y) | (L::Bits(x) & L::SetU(0x80000000U)));
}

// 1 / (1 + exp(-x)): with e = exp(-|x|), q = 1 / (1 + e) or, for x < 0, e / (1 + e). The division's
// remainder and what 1 + e lost to rounding are then given back to q, times 1 - e/2 in place of
// 1 / (1 + e): close enough for a correction.
template <class L>
HWY_INLINE typename L::F Sigmoid(typename L::F x) {
  const auto one = L::Set(1.0F);
  const auto e = Exp<L>(L::FromBits(L::Bits(x) | L::SetU(0x80000000U)));
  const auto numerator = L::Select(x < L::Set(0.0F), e, one);
  const auto denominator = one + e;
  const auto lost = e - (denominator - one);
  const auto q = numerator / denominator;
  const auto minus_q = L::Set(0.0F) - q;
  const auto remainder = L::Fma(minus_q, lost, L::Fma(minus_q, denominator, numerator));
  return L::Fma(remainder, L::Fma(e, L::Set(-0.5F), one), q);
}

// x / (1 + exp(-x)): with c = max(x, -128) and e = exp(-|c|), c / (1 + e) or, for c < 0,
// (c e) / (1 + e). The bound makes -infinity give -0, as the limit does.
template <class L>
HWY_INLINE typename L::F Silu(typename L::F x) {
  const auto low = L::Set(-128.0F);
  const auto c = L::Select(x < low, low, x);
  const auto e = Exp<L>(L::FromBits(L::Bits(c) | L::SetU(0x80000000U)));
  return L::Select(c < L::Set(0.0F), c * e, c) / (L::Set(1.0F) + e);
}

// In double, for functions that are not hot: twice the bits make range reduction and extra
// precision plain, and the one rounding to float at the end is nearly all of the error. --------

// sin(x + quarters * pi/2).
//   n = x / (pi/2) rounded, as the low bits of a double near 1.5 * 2^52; r = x - n pi/2 in two
//   steps of which the first is exact; then the Taylor series of sin or cos in r, |r| < 0.79.
// Beyond 2^40 the quadrant would begin to blur: the result there is NaN, not a guess.
template <std::uint64_t kQuarters>
struct SinPlus {
  template <class W>
  static HWY_INLINE typename W::F Run(typename W::F x) {
    const auto shift = W::Set(0x1.8p52);
    const auto shifted = W::Fma(x, W::Set(0x1.45f306dc9c883p-1), shift);
    const auto n = shifted - shift;
    auto r = W::Fma(n, W::Set(-0x1.921fb54442d18p+0), x);
    r = W::Fma(n, W::Set(-0x1.1a62633145c07p-54), r);
    const auto z = r * r;
    const auto sine = r * Horner<W>(z, 1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880,
                                    -1.0 / 39916800, 1.0 / 6227020800);
    const auto cosine = Horner<W>(z, 1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320,
                                  -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200);
    const auto quadrant = W::Bits(shifted) + W::SetU(kQuarters);
    const auto y = W::Select(W::IsZero(quadrant & W::SetU(1)), sine, cosine);
    const auto sign = W::template Shl<62>(quadrant & W::SetU(2));
    const auto magnitude = W::FromBits(W::Bits(x) & W::SetU(0x7fffffffffffffffU));
    return W::Select(magnitude <= W::Set(0x1p40), W::FromBits(W::Bits(y) ^ sign),
                     W::Set(std::numeric_limits<double>::quiet_NaN()));
  }
};

// log2(a) for a normal, positive, finite a: a = 2^k m with m in [sqrt(1/2), sqrt(2)),
// log2(m) = 2/ln 2 * artanh(s), s = (m - 1) / (m + 1), by the Taylor series of artanh.
template <class W>
HWY_INLINE typename W::F Log2InF64(typename W::F a) {
  const auto root_half = W::SetU(0x3fe6a09e667f3bcdU);
  const auto moved = W::Bits(a) + (W::SetU(0x3ff0000000000000U) - root_half);
  const auto k = W::FromBits(W::template Shr<52>(moved) | W::SetU(0x4330000000000000U)) -
                 W::Set(0x1p52 + 1023);
  const auto m = W::FromBits((moved & W::SetU(0x000fffffffffffffU)) + root_half);
  const auto one = W::Set(1.0);
  const auto s = (m - one) / (m + one);
  const auto series = Horner<W>(s * s, 1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13,
                                1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21);
  return W::Fma(s * W::Set(0x1.71547652b82fep+1), series, k);
}

// 2^t, NaN for NaN; t is limited to [-200, 200], which lies beyond every float.
template <class W>
HWY_INLINE typename W::F Exp2InF64(typename W::F t) {
  const auto low = W::Set(-200.0);
  const auto high = W::Set(200.0);
  t = W::Select(t < low, low, t);
  t = W::Select(high < t, high, t);
  const auto shift = W::Set(0x1.8p52);
  const auto shifted = t + shift;
  const auto z = (t - (shifted - shift)) * W::Set(0x1.62e42fefa39efp-1);
  const auto e =
      Horner<W>(z, 1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040,
                1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600);
  return e * W::FromBits(W::template Shl<52>(W::Bits(shifted) + W::SetU(1023U)));
}

// |x|^y = 2^(y log2 |x|), then the sign and the special cases of IEEE 754's pow.
struct PowF64 {
  template <class W>
  static HWY_INLINE typename W::F Run(typename W::F x, typename W::F y) {
    const auto infinity = W::Set(std::numeric_limits<double>::infinity());
    const auto zero = W::Set(0.0);
    const auto one = W::Set(1.0);
    const auto magnitude = W::SetU(0x7fffffffffffffffU);
    const auto a = W::FromBits(W::Bits(x) & magnitude);
    auto log2 = Log2InF64<W>(a);
    log2 = W::Select(a == zero, zero - infinity, log2);
    log2 = W::Select(a == infinity, infinity, log2);
    auto p = Exp2InF64<W>(y * log2);
    p = W::Select(a == one, one, p);  // Also for an infinite y.

    // Floats from 2^24 on are even; below, adding 1.5 * 2^52 leaves an integer in the low bits.
    const auto shift = W::Set(0x1.8p52);
    const auto moved = y + shift;
    const auto large = W::Set(0x1p24) <= W::FromBits(W::Bits(y) & magnitude);
    const auto integer = W::Or(large, (moved - shift) == y);
    const auto even = W::Or(large, W::IsZero(W::Bits(moved) & W::SetU(1U)));
    const auto negated = W::FromBits(W::Bits(p) | (W::Bits(x) & W::SetU(0x8000000000000000U)));
    p = W::Select(W::And(integer, W::Not(even)), negated, p);

    const auto nan = W::Set(std::numeric_limits<double>::quiet_NaN());
    const auto negative = W::And(x < zero, a < infinity);
    p = W::Select(W::And(negative, W::Not(integer)), nan, p);
    p = W::Select(W::Or(W::IsNaN(x), W::IsNaN(y)), nan, p);
    return W::Select(W::Or(x == one, y == zero), one, p);
  }
};

template <class L>
HWY_INLINE typename L::F Sin(typename L::F x) {
  return L::template InF64<SinPlus<0>>(x);
}
template <class L>
HWY_INLINE typename L::F Cos(typename L::F x) {
  return L::template InF64<SinPlus<1>>(x);
}
template <class L>
HWY_INLINE typename L::F Pow(typename L::F x, typename L::F y) {
  return L::template InF64<PowF64>(x, y);
}

}  // namespace shoal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
