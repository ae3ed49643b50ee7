#include "kernels/convert.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/float16.h"
#include "kernels/kernel_testing.h"

namespace shoal::kernels {
namespace {

std::vector<std::uint16_t> AllHalves() {
  std::vector<std::uint16_t> all(1U << 16U);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  return all;
}

// The value of an F16 from its fields, independently of the conversion under test.
double ValueOfF16(std::uint16_t bits) {
  const int exponent = (bits >> 10U) & 31;
  const int mantissa = bits & 1023;
  const double sign = bits >> 15U ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(ConvertTest, EveryF16BecomesItsFloat) {
  for (const std::uint16_t bits : AllHalves()) {
    const float value = FloatFromF16(bits);
    if ((bits & 0x7c00U) != 0x7c00U) {
      ASSERT_EQ(value, ValueOfF16(bits)) << bits;
      ASSERT_EQ(std::signbit(value), bits >> 15U != 0);
    } else if ((bits & 0x03ffU) != 0) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(value), 0x7fc00000U);
    } else {
      ASSERT_TRUE(std::isinf(value));
    }
  }
}

// Between neighbours a and b of the 16-bit format: the middle goes to the even one, anything
// beyond it to the nearer one.
template <class Narrow, class Widen>
void ExpectRoundsToNearestEven(Narrow narrow, Widen widen, std::uint16_t largest) {
  for (std::uint16_t a = 0; a < largest; ++a) {
    const auto b = static_cast<std::uint16_t>(a + 1);
    const float middle = (widen(a) + widen(b)) / 2;  // Exact: floats have bits to spare.
    const std::uint16_t even = a % 2 == 0 ? a : b;
    ASSERT_EQ(narrow(widen(a)), a);
    ASSERT_EQ(narrow(middle), even) << a;
    ASSERT_EQ(narrow(std::nextafter(middle, 0.0F)), a);
    ASSERT_EQ(narrow(std::nextafter(middle, 1e38F)), b);
    ASSERT_EQ(narrow(-middle), even | 0x8000U);
  }
}

TEST(ConvertTest, F16RoundsToNearestEven) {
  ExpectRoundsToNearestEven(&F16FromFloat, &FloatFromF16, 0x7bff);
  EXPECT_EQ(F16FromFloat(65519.996F), 0x7bff);
  EXPECT_EQ(F16FromFloat(65520.0F), 0x7c00);  // Half-way to 2^16: infinity.
  EXPECT_EQ(F16FromFloat(1e38F), 0x7c00);
  EXPECT_EQ(F16FromFloat(std::bit_cast<float>(0xff800001U)), kF16NaN);
}

TEST(ConvertTest, BF16RoundsToNearestEven) {
  // From 2^-126 on: below, half of a step between floats is no float.
  for (std::uint16_t a = 0x0080; a < 0x7f7f; ++a) {
    const float low = FloatFromBF16(a);
    ASSERT_EQ(BF16FromFloat(low), a);
    const float middle = std::bit_cast<float>((static_cast<std::uint32_t>(a) << 16U) | 0x8000U);
    ASSERT_EQ(BF16FromFloat(middle), a % 2 == 0 ? a : a + 1);
    ASSERT_EQ(BF16FromFloat(std::nextafter(middle, 0.0F)), a);
    ASSERT_EQ(BF16FromFloat(std::nextafter(middle, std::numeric_limits<float>::infinity())), a + 1);
  }
  EXPECT_EQ(BF16FromFloat(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(BF16FromFloat(std::bit_cast<float>(0xffffffffU)), kBF16NaN);
}

TEST(ConvertTest, EveryTargetWidensAllHalvesAlike) {
  const std::vector<std::uint16_t> all = AllHalves();
  TestThreads threads(3);
  std::vector<float> y(all.size());
  for (const Target target : SupportedTargets()) {
    SCOPED_TRACE(target);
    F32FromF16(all, y, threads, target);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const float want = FloatFromF16(all[i]);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(y[i]), std::bit_cast<std::uint32_t>(want)) << i;
    }
    F32FromBF16(all, y, threads, target);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const float want = FloatFromBF16(all[i]);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(y[i]), std::bit_cast<std::uint32_t>(want)) << i;
    }
  }
}

TEST(ConvertTest, EveryTargetNarrowsAlike) {
  using Narrow = void(std::span<const float>, std::span<std::uint16_t>, Parallel&, Target);
  for (Narrow* narrow : {&F16FromF32, &BF16FromF32}) {
    ExpectSameBitsEverywhere(
        [&](std::size_t n, Parallel& parallel, Target target) {
          std::vector<float> x = AwkwardFloats(n, n);
          // Ties and the range of F16's subnormals, which chance would miss.
          for (std::size_t i = 0; i < n; i += 3) {
            x[i] = std::ldexp(static_cast<float>(2 * (i % 2048) + 1), -static_cast<int>(i % 30));
          }
          std::vector<std::uint16_t> y(n);
          narrow(x, y, parallel, target);
          return y;
        },
        kThreadedElements);
  }
}

}  // namespace
}  // namespace shoal::kernels
