#include "kernels/gemm_grid.h"

#include <gtest/gtest.h>

namespace shoal::kernels {
namespace {

constexpr std::size_t kPanel = 32;

std::size_t Tasks(const GemmGrid& grid, std::size_t m, std::size_t n) {
  return ((m + grid.rows - 1) / grid.rows) * ((n + grid.columns - 1) / grid.columns);
}

TEST(GemmGridTest, SmallWorkAndOneWorkerAreOneTask) {
  const GemmGrid small = ChooseGemmGrid(32, 32, 64, kPanel, 8);
  EXPECT_EQ(Tasks(small, 32, 32), 1U);
  const GemmGrid alone = ChooseGemmGrid(2048, 2048, 2048, kPanel, 1);
  EXPECT_EQ(Tasks(alone, 2048, 2048), 1U);
}

TEST(GemmGridTest, TallMatricesAreCutIntoRowsAndWideOnesIntoColumns) {
  const GemmGrid tall = ChooseGemmGrid(12544, 64, 64, kPanel, 2);
  EXPECT_EQ(tall.columns, 64U);
  EXPECT_EQ(tall.rows, 12544U / 2);
  const GemmGrid wide = ChooseGemmGrid(196, 512, 1024, kPanel, 2);
  EXPECT_EQ(wide.columns, 256U);
  EXPECT_EQ(wide.rows, 196U);
}

TEST(GemmGridTest, LargeWorkLeavesEveryWorkerSeveralTasks) {
  for (const std::size_t workers : {2U, 3U, 4U, 8U}) {
    const std::size_t tasks = Tasks(ChooseGemmGrid(2048, 2048, 2048, kPanel, workers), 2048, 2048);
    EXPECT_GE(tasks, 2 * workers);
    EXPECT_LE(tasks, 4 * workers);
  }
}

TEST(GemmGridTest, TasksEndAtPanels) {
  for (std::size_t n = 1; n < 700; n += 37) {
    const GemmGrid grid = ChooseGemmGrid(64, n, 1000, kPanel, 4);
    EXPECT_TRUE(grid.columns == n || grid.columns % kPanel == 0) << n;
  }
}

}  // namespace
}  // namespace shoal::kernels
