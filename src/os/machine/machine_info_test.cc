#include "os/machine/machine_info.h"

#include <gtest/gtest.h>

#include "os/machine/fake_machines.h"

namespace shoal::os {
namespace {

using Sentences = std::vector<std::string>;

TEST(MachineInfoTest, NamesTheMachine) {
  const FakeTree pixel;
  MakePixel(pixel);
  EXPECT_EQ(*ReadMachineInfo(pixel.root()).model, "Google Pixel 3");
  const FakeTree laptop;
  MakeLaptop(laptop);
  const MachineInfo machine = ReadMachineInfo(laptop.root());
  EXPECT_EQ(*machine.model, "ThinkPad X270");
  EXPECT_EQ(machine.kernel.substr(0, 5), "Linux");
}

TEST(MachineInfoTest, ReadsThisMachineWithoutFailing) {
  const MachineInfo machine = ReadMachineInfo(SysRoot());
  EXPECT_FALSE(machine.cpu.cores.empty());
  (void)AdviseOwner(machine);
}

TEST(AdviceTest, IsSilentWhenAllIsWell) {
  const FakeTree tree;
  MakePixel(tree);
  EXPECT_EQ(AdviseOwner(ReadMachineInfo(tree.root())), Sentences{});
  const FakeTree laptop;
  MakeLaptop(laptop);
  EXPECT_EQ(AdviseOwner(ReadMachineInfo(laptop.root())), Sentences{});
}

TEST(AdviceTest, WarnsOfEveryBattery) {
  FakeTree tree;
  EXPECT_EQ(WarnOfBattery(ReadMachineInfo(tree.root())), "");
  MakePixel(tree);
  EXPECT_NE(WarnOfBattery(ReadMachineInfo(tree.root())).find("80 %"), std::string::npos);
}

TEST(AdviceTest, ExplainsABackgroundCpuset) {
  const FakeTree tree;
  MakePixel(tree);
  tree.Write("/proc/self/status", "Cpus_allowed_list:\t0-1\n");
  tree.Write("/proc/self/cpuset", "/background\n");
  EXPECT_EQ(AdviseOwner(ReadMachineInfo(tree.root())),
            Sentences{"background cpuset: only 2 little cores are allowed"});
}

TEST(AdviceTest, ExplainsMissingCores) {
  const FakeTree tree;
  MakePixel(tree);
  tree.Write("/proc/self/status", "Cpus_allowed_list:\t0-3,6\n");
  tree.Write("/sys/devices/system/cpu/online", "0-6\n");
  tree.Write("/sys/fs/cgroup/cpu.max", "150000 100000");
  EXPECT_EQ(AdviseOwner(ReadMachineInfo(tree.root())),
            (Sentences{"CPU affinity: only 5 of 7 cores are allowed",
                       "1 core is switched off by the system, to save power or because of heat",
                       "the container may use the time of 1.5 cores only"}));
}

TEST(AdviceTest, ExplainsHeatPowerAndMemory) {
  const FakeTree tree;
  MakeSamsung(tree);
  EXPECT_EQ(
      AdviseOwner(ReadMachineInfo(tree.root())),
      (Sentences{"the clock is limited to 66 % of its maximum: the phone is hot or saves power",
                 "the battery has 47 degrees: cool it or take it out of the rack",
                 "running on battery (34 % left): connect a charger",
                 "only 488 MiB of memory are left: close other apps"}));
}

TEST(AdviceTest, NoticesAWeakCharger) {
  const FakeTree tree;
  MakePixel(tree);
  tree.Write("/sys/class/power_supply/battery/status", "Discharging");
  EXPECT_EQ(AdviseOwner(ReadMachineInfo(tree.root())),
            Sentences{"the battery is losing charge although a charger is connected (83 % left)"});
}

TEST(AdviceTest, SaysWhenItIsBlind) {
  const FakeTree tree;
  MakePixel(tree);
  tree.Forbid("/sys/class/power_supply");
  const Unprivileged unprivileged;
  if (!unprivileged.ok()) GTEST_SKIP() << "cannot stop being root";
  const Sentences advice = AdviseOwner(ReadMachineInfo(tree.root()));
  ASSERT_EQ(advice.size(), 1U);
  EXPECT_EQ(advice[0].substr(0, 44), "the battery cannot be read (permission denie");
}

}  // namespace
}  // namespace shoal::os
