// Goal: what files say becomes telemetry, and whether a charger delivers is known where it can be.
#include "shoal/machine_probe.h"

#include <gtest/gtest.h>

#include <cmath>

#include "os/machine/fake_machines.h"
#include "os/machine/fake_tree.h"

namespace shoal {
namespace {

using os::FakeTree;

wire::pb::Telemetry Read(const FakeTree& tree) {
  MachineProbe probe(tree.root(), {}, 0);
  wire::pb::Telemetry telemetry;
  probe.Read(telemetry);
  return telemetry;
}

void WriteBattery(const FakeTree& tree, const char* file, const char* text) {
  tree.Write(std::string("/sys/class/power_supply/battery/") + file, text);
}

void Connect(const FakeTree& tree, bool connected) {
  tree.Write("/sys/class/power_supply/usb/type", "USB\n");
  tree.Write("/sys/class/power_supply/usb/online", connected ? "1\n" : "0\n");
}

TEST(MachineProbeTest, PhonesSayWhetherTheyCharge) {
  FakeTree pixel;
  os::MakePixel(pixel);
  EXPECT_TRUE(Read(pixel).charging());
  EXPECT_GT(Read(pixel).battery_amperes(), 0);
  FakeTree samsung;
  os::MakeSamsung(samsung);
  const wire::pb::Telemetry telemetry = Read(samsung);
  ASSERT_TRUE(telemetry.has_charging());
  EXPECT_FALSE(telemetry.charging());
  EXPECT_LT(telemetry.battery_amperes(), 0);
}

TEST(MachineProbeTest, WithoutABatteryItRunsOnTheMains) {
  FakeTree tree;
  tree.Write("/sys/class/power_supply/mains/type", "Mains\n");
  EXPECT_TRUE(Read(tree).charging());
  EXPECT_FALSE(Read(tree).has_battery_level());
}

TEST(MachineProbeTest, AChargerThatLeavesAFullBatteryAloneDelivers) {
  FakeTree tree;
  WriteBattery(tree, "capacity", "80\n");
  for (const char* status : {"Not charging\n", "Full\n", "Unknown\n", "Discharging\n"}) {
    WriteBattery(tree, "status", status);
    Connect(tree, true);
    EXPECT_TRUE(Read(tree).charging()) << status;
  }
  WriteBattery(tree, "status", "Discharging\n");
  WriteBattery(tree, "current_now", "-900000\n");
  EXPECT_FALSE(Read(tree).charging()) << "it does not keep up";
  WriteBattery(tree, "status", "Not charging\n");
  Connect(tree, false);
  ASSERT_TRUE(Read(tree).has_charging());
  EXPECT_FALSE(Read(tree).charging());
}

TEST(MachineProbeTest, WhatNobodyTellsIsNotKnown) {
  FakeTree tree;
  WriteBattery(tree, "capacity", "80\n");
  WriteBattery(tree, "status", "Not charging\n");
  EXPECT_FALSE(Read(tree).has_charging());
}

TEST(MachineProbeTest, WhatCannotBeIsNoNumber) {
  FakeTree tree;
  WriteBattery(tree, "capacity", "255\n");
  WriteBattery(tree, "temp", "32767\n");
  const wire::pb::Telemetry telemetry = Read(tree);
  EXPECT_TRUE(std::isnan(telemetry.battery_level()));
  EXPECT_TRUE(std::isnan(telemetry.battery_celsius()));
  EXPECT_FALSE(telemetry.has_battery_amperes()) << "nothing is there";
}

}  // namespace
}  // namespace shoal
