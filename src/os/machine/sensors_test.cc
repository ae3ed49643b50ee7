#include "os/machine/sensors.h"

#include <gtest/gtest.h>

#include <string>

#include "os/machine/fake_machines.h"

namespace shoal::os {
namespace {

void SetBattery(const FakeTree& tree, const std::string& file, std::string_view text) {
  tree.Write("/sys/class/power_supply/battery/" + file, text);
}

void SetZone(const FakeTree& tree, const std::string& type, std::string_view temp) {
  tree.Write("/sys/class/thermal/thermal_zone0/type", type);
  tree.Write("/sys/class/thermal/thermal_zone0/temp", temp);
}

TEST(BatteryTest, ReadsAPixel) {
  const FakeTree tree;
  MakePixel(tree);
  const auto battery = ReadBattery(tree.root());
  ASSERT_TRUE(battery.ok());
  EXPECT_EQ(battery->name, "battery");
  EXPECT_EQ(*battery->percent, 83);
  EXPECT_EQ(*battery->status, ChargeStatus::kCharging);
  EXPECT_NEAR(*battery->celsius, 31.2, 1e-9);
  EXPECT_NEAR(*battery->volts, 4.123456, 1e-9);
  EXPECT_NEAR(*battery->amperes, 0.912345, 1e-9) << "charging is positive";
  EXPECT_TRUE(*ReadExternalPower(tree.root()));
}

TEST(BatteryTest, ReadsASamsungInMilliamperesWithTheOtherSign) {
  const FakeTree tree;
  MakeSamsung(tree);
  const auto battery = ReadBattery(tree.root());
  ASSERT_TRUE(battery.ok());
  EXPECT_NEAR(*battery->volts, 3.912, 1e-9);
  EXPECT_NEAR(*battery->amperes, -0.743, 1e-9) << "discharging is negative";
  EXPECT_FALSE(*ReadExternalPower(tree.root()));
}

TEST(BatteryTest, ReadsALaptopAndNotItsMouse) {
  const FakeTree tree;
  MakeLaptop(tree);
  const auto battery = ReadBattery(tree.root());
  ASSERT_TRUE(battery.ok());
  EXPECT_EQ(battery->name, "BAT0");
  EXPECT_EQ(*battery->status, ChargeStatus::kFull);
  EXPECT_NEAR(*battery->volts, 12.534, 1e-9);
  EXPECT_EQ(battery->celsius.status().message(),
            "no such file or directory: " + tree.path() + "/sys/class/power_supply/BAT0/temp");
}

TEST(BatteryTest, KeepsTheFilesSignIfTheStatusDoesNotSay) {
  const FakeTree tree;
  MakePixel(tree);
  SetBattery(tree, "status", "Not charging\n");
  EXPECT_NEAR(*ReadBattery(tree.root())->amperes, -0.912345, 1e-9);
}

TEST(BatteryTest, AServerHasNone) {
  const FakeTree tree;
  EXPECT_EQ(ReadBattery(tree.root()).status().message(),
            "no such file or directory: " + tree.path() + "/sys/class/power_supply");
  EXPECT_EQ(ReadExternalPower(tree.root()).status().code(), Code::kNotFound);
}

TEST(BatteryTest, SaysWhatIsForbidden) {
  const FakeTree tree;
  MakePixel(tree);
  tree.Forbid("/sys/class/power_supply/battery/capacity");
  tree.Forbid("/sys/class/power_supply/usb/online");
  const Unprivileged unprivileged;
  if (!unprivileged.ok()) GTEST_SKIP() << "cannot stop being root";
  const auto battery = ReadBattery(tree.root());
  ASSERT_TRUE(battery.ok());
  EXPECT_EQ(battery->percent.status().message(),
            "permission denied: " + tree.path() + "/sys/class/power_supply/battery/capacity");
  EXPECT_EQ(*battery->status, ChargeStatus::kCharging) << "the rest is read";
}

TEST(BatteryTest, ADirectoryThatMayNotBeListedIsStillTried) {
  const FakeTree tree;
  MakePixel(tree);
  tree.Forbid("/sys/class/power_supply");
  const Unprivileged unprivileged;
  if (!unprivileged.ok()) GTEST_SKIP() << "cannot stop being root";
  const auto battery = ReadBattery(tree.root());
  ASSERT_TRUE(battery.ok());
  EXPECT_EQ(battery->percent.status().code(), Code::kUnavailable);
  EXPECT_EQ(ReadExternalPower(tree.root()).status().code(), Code::kUnavailable);
}

TEST(BatteryTest, NonsenseIsNotBelieved) {
  const FakeTree tree;
  MakePixel(tree);
  const std::string huge(2 << 20, '7');
  const std::string garbage("\x7f\x45\x4c\x46\0\xff", 6);
  for (const std::string& text :
       {std::string("-1"), std::string("200"), std::string(""), std::string("full"), garbage}) {
    SetBattery(tree, "capacity", text);
    EXPECT_EQ(ReadBattery(tree.root())->percent.status().code(), Code::kCorruption) << text;
  }
  SetBattery(tree, "capacity", huge);
  EXPECT_EQ(ReadBattery(tree.root())->percent.status().code(), Code::kResourceExhausted);
  SetBattery(tree, "temp", "9999");
  SetBattery(tree, "voltage_now", "-9223372036854775808");
  SetBattery(tree, "current_now", "9223372036854775807");
  SetBattery(tree, "status", garbage);
  const auto battery = ReadBattery(tree.root());
  EXPECT_EQ(battery->celsius.status().code(), Code::kCorruption);
  EXPECT_EQ(battery->volts.status().code(), Code::kCorruption);
  EXPECT_EQ(battery->amperes.status().code(), Code::kCorruption);
  EXPECT_EQ(battery->status.status().code(), Code::kCorruption);
}

TEST(BatteryTest, MessagesQuoteGarbageAsPlainText) {
  const FakeTree tree;
  MakePixel(tree);
  SetBattery(tree, "capacity", "\x7f\xff\"x");
  EXPECT_EQ(
      ReadBattery(tree.root())->percent.status().message(),
      "\"??\"x\" is not a number: " + tree.path() + "/sys/class/power_supply/battery/capacity");
}

TEST(ThermalTest, PicksTheHottestZoneOfAPart) {
  const FakeTree tree;
  MakePixel(tree);
  const auto thermal = ReadThermal(tree.root());
  ASSERT_TRUE(thermal.ok());
  EXPECT_EQ(thermal->zones.size(), 4U) << "the one that is off is left out";
  EXPECT_NEAR(*thermal->cpu_celsius, 51.7, 1e-9);
  EXPECT_NEAR(*thermal->skin_celsius, 34.0, 1e-9);
  EXPECT_NEAR(*thermal->battery_celsius, 31.2, 1e-9);
}

TEST(ThermalTest, UnderstandsWholeDegreesAndClusterNames) {
  const FakeTree tree;
  MakeSamsung(tree);
  const auto thermal = ReadThermal(tree.root());
  ASSERT_TRUE(thermal.ok());
  EXPECT_EQ(*thermal->cpu_celsius, 61);
  EXPECT_EQ(thermal->skin_celsius.status().message(), "none of 3 thermal zones is the skin");
}

TEST(ThermalTest, NonsenseIsLeftOutAndExplained) {
  const FakeTree tree;
  for (const char* temp : {"", "x", "999", "-274000", "200000", "9223372036854775807"}) {
    SetZone(tree, "cpu", temp);
    EXPECT_EQ(ReadThermal(tree.root()).status().code(), Code::kCorruption) << temp;
  }
  SetZone(tree, "cpu", "-5");
  EXPECT_EQ(*ReadThermal(tree.root())->cpu_celsius, -5);
}

TEST(ThermalTest, NoZonesIsNotFound) {
  const FakeTree tree;
  EXPECT_EQ(ReadThermal(tree.root()).status().code(), Code::kNotFound);
  tree.Write("/sys/class/thermal/cooling_device0/type", "fan");
  EXPECT_EQ(ReadThermal(tree.root()).status().message(), "no thermal zone in /sys/class/thermal");
}

TEST(MemoryTest, ReadsAPixel) {
  const FakeTree tree;
  MakePixel(tree);
  const MemoryInfo memory = ReadMemoryInfo(tree.root());
  EXPECT_EQ(*memory.bytes_total, 3'676'972ULL * 1024);
  EXPECT_EQ(*memory.bytes_available, 1'576'460ULL * 1024);
  EXPECT_EQ(*memory.bytes_resident, 20ULL << 20U);
  EXPECT_DOUBLE_EQ(*memory.pressure_percent, 1.25);
  EXPECT_EQ(memory.huge_pages.status().code(), Code::kNotFound);
}

TEST(MemoryTest, OldKernelsDoNotSayWhatIsAvailable) {
  const FakeTree tree;
  MakeSamsung(tree);
  EXPECT_EQ(*ReadMemoryInfo(tree.root()).bytes_available, 500'000ULL * 1024);
}

TEST(MemoryTest, KnowsHugePageModes) {
  const FakeTree tree;
  const auto mode = [&](const char* text) {
    tree.Write("/sys/kernel/mm/transparent_hugepage/enabled", text);
    return ReadMemoryInfo(tree.root()).huge_pages;
  };
  EXPECT_EQ(*mode("[always] madvise never"), HugePages::kAlways);
  EXPECT_EQ(*mode("always [madvise] never"), HugePages::kOnRequest);
  EXPECT_EQ(*mode("always madvise [never]"), HugePages::kNever);
  EXPECT_EQ(mode("whatever").status().code(), Code::kCorruption);
}

TEST(MemoryTest, NonsenseIsNotBelieved) {
  const FakeTree tree;
  tree.Write("/proc/meminfo", "MemTotal: -5 kB\nMemAvailable: lots\nMemFree: 1 kB\n");
  tree.Write("/proc/pressure/memory", "some avg10=1e9");
  const MemoryInfo memory = ReadMemoryInfo(tree.root());
  EXPECT_EQ(memory.bytes_total.status().code(), Code::kCorruption);
  EXPECT_EQ(memory.bytes_available.status().code(), Code::kCorruption);
  EXPECT_EQ(memory.pressure_percent.status().code(), Code::kCorruption);
}

TEST(MemoryTest, ThisMachineHasSome) {
  const MemoryInfo memory = ReadMemoryInfo(SysRoot());
  ASSERT_TRUE(memory.bytes_total.ok());
  ASSERT_TRUE(memory.bytes_available.ok());
  ASSERT_TRUE(memory.bytes_resident.ok());
  EXPECT_LE(*memory.bytes_available, *memory.bytes_total);
  EXPECT_GT(*memory.bytes_resident, 0U);
}

TEST(SensorsTest, GathersEverything) {
  const FakeTree tree;
  MakeSamsung(tree);
  const Sensors sensors = ReadSensors(tree.root(), {6, 7});
  EXPECT_TRUE(sensors.battery.ok());
  EXPECT_FALSE(*sensors.external_power);
  EXPECT_TRUE(sensors.thermal.ok());
  EXPECT_LT(*sensors.clock_limit, 0.7);
  EXPECT_TRUE(sensors.memory.bytes_total.ok());
}

}  // namespace
}  // namespace shoal::os
