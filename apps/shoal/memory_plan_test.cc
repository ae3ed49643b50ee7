#include "shoal/memory_plan.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;
// A page of 8 MiB: 1024 tokens take 128 MiB.
constexpr MemoryNeeds kNeeds = {.fixed = 2 * kGiB, .kv_page = 8U << 20U, .model_context = 131072};

TEST(MemoryPlanTest, WhatIsAskedForOrNothing) {
  EXPECT_EQ(*PlanContext(kNeeds, 8192, 3 * kGiB), 8192U);
  const auto refused = PlanContext(kNeeds, 8193, 3 * kGiB);
  EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(*PlanContext(kNeeds, 10, 2 * kGiB + kNeeds.kv_page), 10U);
  EXPECT_FALSE(PlanContext(kNeeds, 10, 2 * kGiB + kNeeds.kv_page - 1).ok());
}

TEST(MemoryPlanTest, SaysWhatIsMissing) {
  EXPECT_EQ(PlanContext(kNeeds, 16384, 3 * kGiB).status().message(),
            "needs 4.0 GiB, 2.0 of them for 16384 tokens of context; 3.0 GiB are free: close apps, "
            "use a smaller --context or --kv q8_0, or spread it over phones");
  EXPECT_EQ(PlanContext(kNeeds, 0, kGiB).status().message(),
            "needs 2.1 GiB, 0.1 of them for 1024 tokens of context; 1.0 GiB are free: close apps, "
            "use a smaller model, or spread it over phones");
}

TEST(MemoryPlanTest, WithoutAWishAsMuchAsFits) {
  EXPECT_EQ(*PlanContext(kNeeds, 0, 100 * kGiB), 131072U);
  EXPECT_EQ(*PlanContext(kNeeds, 0, 3 * kGiB + 5), 8192U);
  EXPECT_EQ(*PlanContext(kNeeds, 0, 2 * kGiB + 16 * kNeeds.kv_page), 1024U);
  EXPECT_FALSE(PlanContext(kNeeds, 0, 2 * kGiB + 16 * kNeeds.kv_page - 1).ok());
  // A model for less than that.
  EXPECT_EQ(*PlanContext({.fixed = 0, .kv_page = 10, .model_context = 100}, 0, 20), 100U);
}

// A context of which nobody has seen the end.
TEST(MemoryPlanTest, ManyTokensOverflowNothing) {
  const MemoryNeeds needs = {.fixed = 0, .kv_page = std::uint64_t{1} << 60U, .model_context = 1};
  EXPECT_FALSE(PlanContext(needs, std::size_t{1} << 24U, 100 * kGiB).ok());
}

}  // namespace
}  // namespace shoal
