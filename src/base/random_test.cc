// Goal: the numbers are right (moments, bounds) and the same on every platform.
#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/hash.h"

namespace shoal {
namespace {

constexpr int kDraws = 20'000;

// Mean of kDraws draws; the tolerance below is five standard errors.
template <class Draw>
double Mean(Draw draw) {
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) sum += draw();
  return sum / kDraws;
}

TEST(RandomTest, UnitIsUniform) {
  Random random(1);
  EXPECT_NEAR(Mean([&] { return random.Unit(); }), 0.5, 5 * 0.2887 / std::sqrt(kDraws));
}

TEST(RandomTest, ExponentialHasItsMean) {
  Random random(2);
  EXPECT_NEAR(Mean([&] { return random.Exponential(3.0); }), 3.0, 5 * 3.0 / std::sqrt(kDraws));
}

TEST(RandomTest, NormalHasMeanZeroAndVarianceOne) {
  Random random(3);
  EXPECT_NEAR(Mean([&] { return random.Normal(); }), 0.0, 5 / std::sqrt(kDraws));
  const auto square = [&] {
    const double x = random.Normal();
    return x * x;
  };
  EXPECT_NEAR(Mean(square), 1.0, 5 * std::sqrt(2.0 / kDraws));
}

TEST(RandomTest, BelowStaysBelowAndReachesAll) {
  Random random(4);
  int seen[3] = {};
  for (int i = 0; i < 300; ++i) ++seen[random.Below(3)];
  for (const int count : seen) EXPECT_GT(count, 50);
  EXPECT_EQ(random.Below(1), 0U);
}

TEST(RandomTest, BetweenIncludesBothEnds) {
  Random random(5);
  bool low = false;
  bool high = false;
  for (int i = 0; i < 100; ++i) {
    const std::int64_t x = random.Between(-1, 1);
    ASSERT_GE(x, -1);
    ASSERT_LE(x, 1);
    low = low || x == -1;
    high = high || x == 1;
  }
  EXPECT_TRUE(low && high);
  (void)random.Between(INT64_MIN, INT64_MAX);  // The whole range does not overflow.
}

TEST(RandomTest, ChanceZeroNeverAndOneAlways) {
  Random random(6);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(random.Chance(0.0));
    EXPECT_TRUE(random.Chance(1.0));
  }
}

TEST(RandomTest, StreamsOfASeedDiffer) {
  EXPECT_NE(Random(1, 2).Bits(), Random(2, 1).Bits());
  EXPECT_NE(Random(1, 0).Bits(), Random(1, 1).Bits());
  EXPECT_EQ(Random(1, 7).Bits(), Random(1, 7).Bits());
}

TEST(RandomTest, LogAgreesWithLibm) {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    const double x = std::ldexp(random.Unit() + 0.5, static_cast<int>(random.Between(-900, 900)));
    EXPECT_NEAR(PortableLog(x), std::log(x), 1e-15 * std::fmax(1.0, std::abs(std::log(x))));
  }
  EXPECT_EQ(PortableLog(1.0), 0.0);
}

// The constant was printed by this test on x86-64 with g++ 12; clang and aarch64 agree.
TEST(RandomTest, IsTheSameOnEveryPlatform) {
  Random random(42, 7);
  Fingerprint print;
  for (int i = 0; i < 1000; ++i) {
    print.Add(random.Bits());
    print.Add(random.Below(1000));
    print.Add(static_cast<std::uint64_t>(random.Exponential(1e9)));
    print.Add(static_cast<std::uint64_t>(std::abs(random.Normal()) * 1e9));
  }
  EXPECT_EQ(print.value(), 15717327908088361430ULL);
}

}  // namespace
}  // namespace shoal
