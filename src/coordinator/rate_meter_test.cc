#include "coordinator/rate_meter.h"

#include <gtest/gtest.h>

namespace shoal::coordinator {
namespace {

Instant At(int milliseconds) { return {std::chrono::milliseconds(milliseconds)}; }

TEST(RateMeterTest, NothingIsZero) { EXPECT_EQ(RateMeter().PerSecond(At(123'456)), 0); }

TEST(RateMeterTest, SteadyIsExact) {
  RateMeter meter;
  for (int ms = 100'000; ms < 120'000; ms += 50) meter.Add(1, At(ms));
  EXPECT_NEAR(meter.PerSecond(At(120'000)), 20, 2.5);
  EXPECT_NEAR(meter.PerSecond(At(119'999)), 20, 0.1);
}

TEST(RateMeterTest, TheFirstSecondsCountAsWhatTheyAre) {
  RateMeter meter;
  for (int ms = 100'000; ms < 102'000; ms += 50) meter.Add(1, At(ms));
  EXPECT_NEAR(meter.PerSecond(At(101'999)), 20, 0.1);
  // A single token is not a thousand a second.
  RateMeter single;
  single.Add(1, At(100'000));
  EXPECT_EQ(single.PerSecond(At(100'001)), 1);
}

TEST(RateMeterTest, RestsAreForgotten) {
  RateMeter meter;
  for (int ms = 100'000; ms < 110'000; ms += 50) meter.Add(1, At(ms));
  EXPECT_NEAR(meter.PerSecond(At(112'999)), 8, 0.1);
  EXPECT_EQ(meter.PerSecond(At(115'100)), 0);
  EXPECT_EQ(meter.PerSecond(At(1'000'000)), 0);
  meter.Add(7, At(1'000'000));
  EXPECT_EQ(meter.PerSecond(At(1'000'500)), 7);
}

}  // namespace
}  // namespace shoal::coordinator
