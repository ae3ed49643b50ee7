#include "os/machine/cpu.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "os/machine/affinity.h"
#include "os/machine/cpu_model.h"
#include "os/machine/fake_machines.h"

namespace shoal::os {
namespace {

void Allow(const FakeTree& tree, const std::string& list) {
  tree.Write("/proc/self/status", "Name:\tshoal\nCpus_allowed_list:\t" + list + "\n");
}

TEST(CpuTest, ReadsAPixel) {
  const FakeTree tree;
  MakePixel(tree);
  const CpuInfo cpu = ReadCpuInfo(tree.root());
  EXPECT_EQ(cpu.chip, "Qualcomm Technologies, Inc SDM845");
  ASSERT_EQ(cpu.cores.size(), 8U);
  EXPECT_EQ(cpu.cores[0].model, "Kryo 3xx Silver");
  EXPECT_EQ(cpu.cores[7].model, "Kryo 3xx Gold");
  EXPECT_EQ(*cpu.cores[7].khz_max, 2'803'200);
  EXPECT_EQ(*cpu.cores[7].khz_now, 576'000);
  EXPECT_EQ(*cpu.cores[0].capacity, 414);
  EXPECT_EQ(*cpu.cpuset, "/");
  EXPECT_EQ(cpu.quota_cores.status().code(), Code::kNotFound);

  const std::vector<CoreClass> classes = CoreClasses(cpu);
  ASSERT_EQ(classes.size(), 2U);
  EXPECT_EQ(classes[0].model, "Kryo 3xx Gold");
  EXPECT_EQ(classes[0].cores, (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(classes[0].allowed, 4U);
  EXPECT_EQ(FastestCores(cpu, 5), (std::vector<int>{4, 5, 6, 7, 0}));
  EXPECT_EQ(FastCoreCount(cpu), 4U);
}

TEST(CpuTest, RanksByClockWhereThereAreNoCapacities) {
  const FakeTree tree;
  MakeSamsung(tree);
  const CpuInfo cpu = ReadCpuInfo(tree.root());
  EXPECT_EQ(CoreClasses(cpu).size(), 3U);
  EXPECT_EQ(CoreClasses(cpu)[0].model, "Exynos M4");
  EXPECT_EQ(FastestCores(cpu, 3), (std::vector<int>{6, 7, 4}));
  EXPECT_EQ(cpu.cores[0].capacity.status().code(), Code::kNotFound);
}

TEST(CpuTest, UsesOnlyAllowedCores) {
  const FakeTree tree;
  MakePixel(tree);
  Allow(tree, "0-1");
  const CpuInfo cpu = ReadCpuInfo(tree.root());
  EXPECT_EQ(FastestCores(cpu, 8), (std::vector<int>{0, 1}));
  EXPECT_EQ(FastCoreCount(cpu), 2U);
  EXPECT_EQ(CoreClasses(cpu)[0].allowed, 0U);
}

TEST(CpuTest, TakesEveryPhysicalCoreBeforeASecondThreadOfOne) {
  const FakeTree tree;
  MakeLaptop(tree);
  EXPECT_EQ(FastestCores(ReadCpuInfo(tree.root()), 4), (std::vector<int>{0, 2, 1, 3}));
  EXPECT_EQ(FastCoreCount(ReadCpuInfo(tree.root())), 2U);
  Allow(tree, "1,3");  // Only second threads are ours: each has a physical core to itself.
  EXPECT_EQ(FastCoreCount(ReadCpuInfo(tree.root())), 2U);
}

TEST(CpuTest, AnUnpluggedCoreIsNotAllowed) {
  const FakeTree tree;
  MakePixel(tree);
  tree.Write("/sys/devices/system/cpu/online", "0-3,5\n");
  const CpuInfo cpu = ReadCpuInfo(tree.root());
  EXPECT_EQ(cpu.cores.size(), 8U);
  EXPECT_FALSE(cpu.cores[4].online);
  EXPECT_EQ(FastestCores(cpu, 2), (std::vector<int>{5, 0}));
}

TEST(CpuTest, ReadsQuotasOfBothCgroupVersions) {
  const FakeTree tree;
  MakeLaptop(tree);
  EXPECT_FALSE(ReadCpuInfo(tree.root()).quota_cores.ok());
  tree.Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n");
  tree.Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(*ReadCpuInfo(tree.root()).quota_cores, 2.5);
  tree.Write("/sys/fs/cgroup/user.slice/session.scope/cpu.max", "150000 100000\n");
  EXPECT_DOUBLE_EQ(*ReadCpuInfo(tree.root()).quota_cores, 1.5);
}

TEST(CpuTest, NothingKnownIsOneCore) {
  const FakeTree tree;
  const CpuInfo cpu = ReadCpuInfo(tree.root());
  EXPECT_EQ(FastestCores(cpu, 4), (std::vector<int>{0}));
  EXPECT_EQ(FastCoreCount(cpu), 1U);
}

TEST(CpuTest, NonsenseIsNotBelieved) {
  const FakeTree tree;
  MakePixel(tree);
  tree.Write("/sys/devices/system/cpu/present", "0-4000000000\n");
  tree.Write("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "-1\n");
  tree.Write("/sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq", "99999999999\n");
  tree.Write("/sys/devices/system/cpu/cpu2/cpu_capacity", "\x01\xfe");
  tree.Write("/proc/cpuinfo",
             "processor : 4000000000\nCPU part : 0xd0b\nprocessor\nprocessor : -1");
  tree.Write("/proc/self/cgroup", "0::");
  tree.Write("/sys/fs/cgroup/cpu.max", "-5 0");
  const CpuInfo cpu = ReadCpuInfo(tree.root());
  EXPECT_EQ(cpu.cores.size(), 8U);
  EXPECT_EQ(cpu.cores[0].khz_max.status().code(), Code::kCorruption);
  EXPECT_EQ(cpu.cores[1].khz_max.status().code(), Code::kCorruption);
  EXPECT_EQ(cpu.cores[2].capacity.status().code(), Code::kCorruption);
  EXPECT_EQ(cpu.cores[0].model, "");
  EXPECT_FALSE(cpu.quota_cores.ok());
}

TEST(CpuTest, SeesThatTheClockIsLimited) {
  const FakeTree pixel;
  MakePixel(pixel);
  EXPECT_DOUBLE_EQ(*ReadClockLimit(pixel.root(), {0, 4}), 1.0);
  const FakeTree samsung;
  MakeSamsung(samsung);
  EXPECT_NEAR(*ReadClockLimit(samsung.root(), {0, 7}), 1794.0 / 2730, 1e-9);
  EXPECT_EQ(ReadClockLimit(pixel.root(), {}).status().code(), Code::kNotFound);
  const FakeTree nothing;
  EXPECT_EQ(ReadClockLimit(nothing.root(), {0}).status().code(), Code::kNotFound);
}

TEST(CpuTest, ThisMachineAllowsWhatTheSystemCallSays) {
  const std::vector<int> allowed = *AllowedCpus();
  const CpuInfo cpu = ReadCpuInfo(SysRoot());
  std::vector<int> chosen = FastestCores(cpu, cpu.cores.size());
  std::sort(chosen.begin(), chosen.end());
  EXPECT_EQ(chosen, allowed);
}

TEST(CpuModelTest, NamesArmParts) {
  EXPECT_EQ(ArmPartName(0x41, 0xd0b), "Cortex-A76");
  EXPECT_EQ(ArmPartName(0x51, 0x804), "Kryo 4xx Gold");
  EXPECT_EQ(ArmPartName(0x41, 0x123), "ARM 0x41/0x123");
}

TEST(CpuModelTest, ReadsX86Names) {
  const CpuModels models = ParseCpuInfo("processor\t: 3\nmodel name\t: AMD Ryzen\n");
  EXPECT_EQ(models.chip, "AMD Ryzen");
  EXPECT_EQ(models.cores.at(3), "AMD Ryzen");
}

}  // namespace
}  // namespace shoal::os
