#include "kernels/math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/kernel_testing.h"

namespace shoal::kernels {
namespace {

using Unary = void(std::span<const float>, std::span<float>, Parallel&, Target);
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kTiny = std::numeric_limits<float>::denorm_min();

float Evaluate(Unary* function, float x) {
  Serial serial;
  float y = 0;
  function({&x, 1}, {&y, 1}, serial, BestTarget());
  return y;
}

float EvaluatePow(float x, float y) {
  Serial serial;
  float z = 0;
  Pow({&x, 1}, {&y, 1}, {&z, 1}, serial);
  return z;
}

// The distance in units in the last place of the float nearest to `want`; huge if one is NaN,
// infinite or of the other sign and the other is not.
double UlpsBetween(float got, double want) {
  constexpr double kHuge = 1e9;
  const bool overflows = std::fabs(want) >= 0x1.ffffffp127;  // Rounds to infinity.
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got) ? 0 : kHuge;
  if (std::signbit(got) != std::signbit(want)) return kHuge;
  if (std::isinf(got) || overflows) return std::isinf(got) == overflows ? 0 : kHuge;
  int exponent = 0;
  std::frexp(want, &exponent);
  return std::fabs(got - want) / std::ldexp(1.0, std::max(exponent - 1, -126) - 23);
}

// All exponents and signs, and NaNs. The step is prime: over the exponents every low bit pattern
// gets its turn. It is large enough for a phone's CPU emulated on a PC.
constexpr std::uint64_t kStep = 40009;

std::vector<float> Sweep() {
  std::vector<float> values;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32U); bits += kStep) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  return values;
}

// Expects function(x) within `ulps` of want(x) for the swept x with low <= x <= high, and for NaN.
void ExpectAccurate(Unary* function, double (*want)(double), double ulps, float low = -kInfinity,
                    float high = kInfinity) {
  std::vector<float> x = Sweep();
  std::erase_if(x, [&](float value) { return value < low || value > high; });
  ASSERT_GT(x.size(), 1000U);
  std::vector<float> y(x.size());
  Serial serial;
  function(x, y, serial, BestTarget());
  double worst = 0;
  float worst_x = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = UlpsBetween(y[i], want(x[i]));
    if (error > worst) worst_x = x[i];
    worst = std::max(worst, error);
  }
  EXPECT_LE(worst, ulps) << "at " << worst_x;
}

TEST(MathTest, ExpIsAccurate) {
  ExpectAccurate(
      &Exp, [](double x) { return std::exp(x); }, 0.9);
}
TEST(MathTest, LogIsAccurate) {
  ExpectAccurate(
      &Log, [](double x) { return std::log(x); }, 0.9);
}
TEST(MathTest, SinAndCosAreAccurateUpToTwoToThe40) {
  ExpectAccurate(
      &Sin, [](double x) { return std::sin(x); }, 0.501, -0x1p40F, 0x1p40F);
  ExpectAccurate(
      &Cos, [](double x) { return std::cos(x); }, 0.501, -0x1p40F, 0x1p40F);
}
TEST(MathTest, TanhIsAccurate) {
  ExpectAccurate(
      &Tanh, [](double x) { return std::tanh(x); }, 1.4);
}
TEST(MathTest, SigmoidIsAccurate) {
  ExpectAccurate(
      &Sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 1.5);
}

double TrueSilu(double x) { return x < -700 ? -0.0 : x / (1 + std::exp(-x)); }

TEST(MathTest, SiluIsAccurate) {
  ExpectAccurate(&Silu, &TrueSilu, 3.2, -87);
  for (float x = -87; x > -130; x -= 0.01F) {
    EXPECT_NEAR(Evaluate(&Silu, x), TrueSilu(x), 0x1p-142) << x;
  }
}

// Positions up to a million times RoPE's frequencies: the arguments whose range reduction is hard.
TEST(MathTest, SinAndCosAreAccurateNearMultiplesOfHalfPi) {
  for (double n = 1; n < 1e6; n = n * 1.01 + 1) {
    const auto x = static_cast<float>(std::floor(n) * 0x1.921fb54442d18p0);
    EXPECT_LE(UlpsBetween(Evaluate(&Sin, x), std::sin(static_cast<double>(x))), 0.501) << x;
    EXPECT_LE(UlpsBetween(Evaluate(&Cos, x), std::cos(static_cast<double>(x))), 0.501) << x;
  }
}

// Pairs whose result is a float that is neither 0 nor infinite, and a few that are.
TEST(MathTest, PowIsAccurate) {
  Random random(1);
  double worst = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto exponent = static_cast<float>(random.Between(-140, 127));
    const auto mantissa = static_cast<float>(1 + random.Unit());
    float x = std::ldexp(mantissa, static_cast<int>(exponent));
    if (i % 4 == 1) x = 1 + static_cast<float>(random.Between(-1000, 1000)) * 0x1p-23F;
    const double log2 = std::log2(static_cast<double>(x));
    auto y = static_cast<float>((random.Unit() - 0.5) * 290 / (log2 == 0 ? 1 : log2));
    if (i % 4 == 2) {  // Whole exponents of negative numbers.
      x = -x;
      y = std::round(y);
    }
    const double want = std::pow(static_cast<double>(x), static_cast<double>(y));
    worst = std::max(worst, UlpsBetween(EvaluatePow(x, y), want));
  }
  EXPECT_LE(worst, 0.501);
}

// RoPE: base^(-2 i / dim), as one checks it against others' tables.
TEST(MathTest, PowGivesRopeFrequencies) {
  for (int i = 0; i < 64; ++i) {
    const float exponent = -2.0F * static_cast<float>(i) / 128.0F;
    const double want = std::pow(1e4, static_cast<double>(exponent));
    EXPECT_EQ(EvaluatePow(1e4F, exponent), static_cast<float>(want));
  }
}

// IEEE 754 gives pow 20 special cases; C++ libraries implement them all.
TEST(MathTest, PowTreatsSpecialValuesAsIeee754Says) {
  const float values[] = {0.0F,      1.0F,    0.5F,           2.0F,       3.0F,
                          2.5F,      0x1p24F, 0x1.000002p23F, 1e-40F,     3e38F,
                          kInfinity, kNaN,    0x1p106F,       8388607.0F, 16777214.0F};
  for (const float a : values) {
    for (const float b : values) {
      for (const float x : {a, -a}) {
        for (const float y : {b, -b}) {
          const double want = std::pow(static_cast<double>(x), static_cast<double>(y));
          EXPECT_LE(UlpsBetween(EvaluatePow(x, y), want), 0.501) << x << " to the " << y;
        }
      }
    }
  }
}

TEST(MathTest, LimitsAreExact) {
  EXPECT_EQ(Evaluate(&Exp, 0), 1);
  EXPECT_EQ(Evaluate(&Exp, kInfinity), kInfinity);
  EXPECT_EQ(Evaluate(&Exp, -kInfinity), 0);
  EXPECT_EQ(Evaluate(&Exp, 0x1.62e42ep6F), 0x1.ffff08p127F);  // The last finite one,
  EXPECT_EQ(Evaluate(&Exp, 0x1.62e430p6F), kInfinity);
  EXPECT_EQ(Evaluate(&Exp, -0x1.9fe368p6F), kTiny);  // and the last positive one.
  EXPECT_EQ(Evaluate(&Exp, -0x1.9fe36ap6F), 0);
  EXPECT_EQ(Evaluate(&Log, 1), 0);
  EXPECT_EQ(Evaluate(&Log, 0), -kInfinity);
  EXPECT_EQ(Evaluate(&Log, -0.0F), -kInfinity);
  EXPECT_EQ(Evaluate(&Log, kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(Evaluate(&Log, -kTiny)));
  EXPECT_TRUE(std::isnan(Evaluate(&Sin, 0x1.000002p40F)));
  EXPECT_TRUE(std::isnan(Evaluate(&Cos, kInfinity)));
  EXPECT_EQ(Evaluate(&Cos, 0), 1);
  EXPECT_EQ(Evaluate(&Tanh, kInfinity), 1);
  EXPECT_EQ(Evaluate(&Tanh, -kInfinity), -1);
  EXPECT_EQ(Evaluate(&Tanh, kTiny), kTiny);
  EXPECT_EQ(Evaluate(&Sigmoid, kInfinity), 1);
  EXPECT_EQ(Evaluate(&Sigmoid, -kInfinity), 0);
  EXPECT_EQ(Evaluate(&Silu, kInfinity), kInfinity);
}

TEST(MathTest, ZeroKeepsItsSign) {
  for (Unary* function : {&Sin, &Tanh, &Silu}) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(Evaluate(function, -0.0F)), 0x80000000U);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(Evaluate(function, 0.0F)), 0U);
  }
  EXPECT_TRUE(std::signbit(Evaluate(&Silu, -kInfinity)));
}

TEST(MathTest, EveryNaNIsTheCanonicalOne) {
  for (const std::uint32_t bits : {0x7fc00000U, 0xffc00000U, 0x7f800001U, 0xffffffffU}) {
    for (Unary* function : {&Exp, &Log, &Sin, &Cos, &Tanh, &Sigmoid, &Silu}) {
      const float y = Evaluate(function, std::bit_cast<float>(bits));
      EXPECT_EQ(std::bit_cast<std::uint32_t>(y), 0x7fc00000U);
    }
    const float z = EvaluatePow(2, std::bit_cast<float>(bits));
    EXPECT_EQ(std::bit_cast<std::uint32_t>(z), 0x7fc00000U);
  }
}

TEST(MathTest, EveryTargetGivesTheSameBits) {
  for (Unary* function : {&Exp, &Log, &Sin, &Cos, &Tanh, &Sigmoid, &Silu}) {
    ExpectSameBitsEverywhere(
        [&](std::size_t n, Parallel& parallel, Target target) {
          std::vector<float> y = AwkwardFloats(n, n);
          function(y, y, parallel, target);  // In place.
          return y;
        },
        kThreadedElements);
  }
}

TEST(MathTest, EveryTargetGivesTheSameBitsOfPow) {
  ExpectSameBitsEverywhere(
      [](std::size_t n, Parallel& parallel, Target target) {
        std::vector<float> z(n);
        Pow(AwkwardFloats(n, n), AwkwardFloats(n, n + 1), z, parallel, target);
        return z;
      },
      kThreadedElements);
}

}  // namespace
}  // namespace shoal::kernels
