#include "kernels/target.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shoal::kernels {
namespace {

TEST(TargetTest, NamesRoundTrip) {
  for (const Target target : SupportedTargets()) {
    EXPECT_EQ(ParseTarget(TargetName(target)), target);
  }
  EXPECT_EQ(ParseTarget("mmx"), std::nullopt);
}

TEST(TargetTest, RefIsAlwaysSupportedAndLast) {
  EXPECT_EQ(SupportedTargets().back(), Target::kRef);
  EXPECT_TRUE(std::is_sorted(SupportedTargets().begin(), SupportedTargets().end()));
}

int Fast() { return 1; }
int Plain() { return 2; }

TEST(TargetTest, ChooseTakesTheFastestTheTargetCanRun) {
  const Implementation<int()> rows[] = {{Target::kNeon, &Fast}, {Target::kRef, &Plain}};
  const std::span<const Implementation<int()>> table(rows);
  EXPECT_EQ(Choose(table, Target::kI8mm)(), 1);
  EXPECT_EQ(Choose(table, Target::kNeon)(), 1);
  EXPECT_EQ(Choose(table, Target::kRef)(), 2);
}

}  // namespace
}  // namespace shoal::kernels
