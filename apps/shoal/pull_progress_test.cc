#include "shoal/pull_progress.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(PullProgressTest, SaysWhatIsKnown) {
  EXPECT_EQ(ProgressText("m", 1'234'500'000, 4'370'000'000, 57e6),
            "m: 1234.5 of 4370.0 MB (28 %), 57.0 MB/s, 0:55 left");
  EXPECT_EQ(ProgressText("m", 0, 40'000'000'000, 1e6),
            "m: 0.0 of 40000.0 MB (0 %), 1.0 MB/s, 11:06:40 left");
  EXPECT_EQ(ProgressText("m", 5'000'000, std::nullopt, 1e6), "m: 5.0 MB, 1.0 MB/s");
  EXPECT_EQ(ProgressText("m", 5'000'000, 10'000'000, 0), "m: 5.0 of 10.0 MB (50 %)");
  EXPECT_EQ(ProgressText("m", 0, 0, 1e6), "m: 0.0 MB, 1.0 MB/s, 0:00 left");
}

}  // namespace
}  // namespace shoal
