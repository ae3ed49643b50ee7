// Goal: a shelf of phones that is left alone for a week gives nearly what it could, without layers
// that wander about and without empty batteries.
#include "sim/week_run.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace shoal::sim {
namespace {

constexpr double kFloor = 0.1;  // Of NodeCare.

std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

// SHOAL_SEED=17 runs one seed, with what happened; SHOAL_SEEDS=20 as many.
TEST(WeekRun, NearlyWhatAnOracleGives) {
  const std::uint64_t one = FromEnvironment("SHOAL_SEED", 0);
  const std::uint64_t last = one != 0 ? one : FromEnvironment("SHOAL_SEEDS", SHOAL_WEEK_SEEDS);
  for (std::uint64_t seed = one != 0 ? one : 1; seed <= last; ++seed) {
    WeekOptions options;
    options.seed = seed;
    options.duration = std::chrono::hours(FromEnvironment("SHOAL_HOURS", 168));
    if (one != 0) options.news = [](const std::string& line) { std::cout << line << "\n"; };
    const WeekResult result = RunWeek(options);
    std::cout << "seed " << seed << ": " << result.ToString() << "\n";
    EXPECT_EQ(result.failure, "");
    EXPECT_GE(result.share(), 0.9);
    EXPECT_LT(result.moves_hour_max, 6U) << "for whatever reason but its own coming and going";
    EXPECT_GE(result.battery_least, kFloor);
    EXPECT_GT(result.epochs, 7U) << "something happened";
  }
}

}  // namespace
}  // namespace shoal::sim
