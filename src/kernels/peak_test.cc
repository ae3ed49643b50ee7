#include "kernels/peak.h"

#include <gtest/gtest.h>

#include <vector>

namespace shoal::kernels {
namespace {

TEST(PeakTest, TheFmaLoopCountsWhatItComputes) {
  constexpr std::size_t kIterations = 100;
  for (const Target target : SupportedTargets()) {
    const FmaLoopResult result = RunFmaLoop(kIterations, target);
    // x = x / 2 + 1 ends at 2 whatever it starts from: one 2 for every chain.
    const double chains = result.operations / (2.0 * kIterations);
    EXPECT_EQ(result.checksum, 2 * chains) << target;
    EXPECT_EQ(RunFmaLoop(2 * kIterations, target).operations, 2 * result.operations) << target;
  }
}

TEST(PeakTest, TheReadLoopReadsEveryFloatOnce) {
  for (const std::size_t count : {0U, 1U, 7U, 128U, 1000U}) {
    std::vector<float> data(count);
    for (std::size_t i = 0; i < count; ++i) data[i] = static_cast<float>(i + 1);
    const double sum = static_cast<double>(count) * static_cast<double>(count + 1) / 2;
    for (const Target target : SupportedTargets()) {
      EXPECT_EQ(RunReadLoop(data, target), sum) << target << ", " << count;
    }
  }
}

}  // namespace
}  // namespace shoal::kernels
