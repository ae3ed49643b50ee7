#include "os/pool_plan.h"

#include <gtest/gtest.h>

#include "os/machine/fake_machines.h"

namespace shoal::os {
namespace {

TEST(PoolPlanTest, PinsToTheFastCoresAndSpins) {
  const FakeTree tree;
  MakePixel(tree);
  const PoolPlan plan = PlanPool(ReadCpuInfo(tree.root()), {});
  EXPECT_EQ(plan.threads, 4U);
  EXPECT_EQ(plan.cores, (std::vector<int>{4, 5, 6, 7}));
  EXPECT_TRUE(plan.spin);
}

TEST(PoolPlanTest, NeitherPinsNorSpinsWhereCoresAreShared) {
  const FakeTree tree;
  MakePixel(tree);
  const CpuInfo cpu = ReadCpuInfo(tree.root());
  for (const PoolWish& wish : {PoolWish{.threads = 9}, PoolWish{.cpus = 2},
                               PoolWish{.threads = 2, .cpus = 8}, PoolWish{.power_saving = true}}) {
    const PoolPlan plan = PlanPool(cpu, wish);
    EXPECT_FALSE(plan.spin);
    EXPECT_TRUE(plan.cores.empty());
  }
  EXPECT_EQ(PlanPool(cpu, {.threads = 9}).threads, 9U);
  EXPECT_EQ(PlanPool(cpu, {.cpus = 2}).threads, 2U);
  EXPECT_EQ(PlanPool(cpu, {.threads = 1'000'000}).threads, kPoolThreadsMax);
}

TEST(PoolPlanTest, FollowsAContainersLimit) {
  const FakeTree tree;
  MakePixel(tree);
  tree.Write("/sys/fs/cgroup/cpu.max", "150000 100000");
  const CpuInfo cpu = ReadCpuInfo(tree.root());
  EXPECT_EQ(PlanPool(cpu, {}).threads, 1U);
  EXPECT_FALSE(PlanPool(cpu, {.threads = 2}).spin);
}

}  // namespace
}  // namespace shoal::os
