#include "os/machine/fake_machines.h"

#include <string>

namespace shoal::os {
namespace {

std::string CoreFile(int id, const char* file) {
  return "/sys/devices/system/cpu/cpu" + std::to_string(id) + "/" + file;
}

std::string ArmCpuInfo(int id, const char* implementer, const char* part) {
  return "processor\t: " + std::to_string(id) + "\nCPU implementer\t: " + implementer +
         "\nCPU architecture: 8\nCPU variant\t: 0x7\nCPU part\t: " + part + "\n\n";
}

void WriteClocks(const FakeTree& tree, int id, const std::string& max, const std::string& limit) {
  tree.Write(CoreFile(id, "cpufreq/cpuinfo_max_freq"), max + "\n");
  tree.Write(CoreFile(id, "cpufreq/scaling_max_freq"), limit + "\n");
  tree.Write(CoreFile(id, "cpufreq/scaling_cur_freq"), "576000\n");
}

void WriteSupply(const FakeTree& tree, const std::string& name, const char* file,
                 const char* text) {
  tree.Write("/sys/class/power_supply/" + name + "/" + file, std::string(text) + "\n");
}

void WriteZone(const FakeTree& tree, int number, const char* type, const char* temp) {
  const std::string directory = "/sys/class/thermal/thermal_zone" + std::to_string(number);
  tree.Write(directory + "/type", std::string(type) + "\n");
  tree.Write(directory + "/temp", std::string(temp) + "\n");
}

}  // namespace

void MakePixel(const FakeTree& tree) {
  tree.Write("/sys/devices/system/cpu/present", "0-7\n");
  tree.Write("/sys/devices/system/cpu/online", "0-7\n");
  std::string cpuinfo = "Processor\t: AArch64 Processor rev 12 (aarch64)\n";
  for (int id = 0; id < 8; ++id) {
    const bool gold = id >= 4;
    WriteClocks(tree, id, gold ? "2803200" : "1766400", gold ? "2803200" : "1766400");
    tree.Write(CoreFile(id, "cpu_capacity"), gold ? "1024\n" : "414\n");
    cpuinfo += ArmCpuInfo(id, "0x51", gold ? "0x802" : "0x803");
  }
  tree.Write("/proc/cpuinfo", cpuinfo + "Hardware\t: Qualcomm Technologies, Inc SDM845\n");
  tree.Write("/proc/self/status", "Name:\tshoal\nVmRSS:\t   20480 kB\nCpus_allowed_list:\t0-7\n");
  tree.Write("/proc/self/cpuset", "/\n");
  tree.Write("/proc/device-tree/model", std::string("Google Pixel 3\0", 15));
  tree.Write("/proc/meminfo",
             "MemTotal:        3676972 kB\nMemFree:          105272 kB\n"
             "MemAvailable:    1576460 kB\nCached:          1410088 kB\n");
  tree.Write("/proc/pressure/memory",
             "some avg10=1.25 avg60=0.80 avg300=0.12 total=2143432\n"
             "full avg10=0.00 avg60=0.00 avg300=0.00 total=72\n");
  WriteSupply(tree, "battery", "type", "Battery");
  WriteSupply(tree, "battery", "capacity", "83");
  WriteSupply(tree, "battery", "status", "Charging");
  WriteSupply(tree, "battery", "temp", "312");
  WriteSupply(tree, "battery", "voltage_now", "4123456");
  WriteSupply(tree, "battery", "current_now", "-912345");
  WriteSupply(tree, "usb", "type", "USB_PD");
  WriteSupply(tree, "usb", "online", "1");
  WriteSupply(tree, "wireless", "type", "Wireless");
  WriteSupply(tree, "wireless", "online", "0");
  WriteZone(tree, 0, "cpu0-silver-usr", "45200");
  WriteZone(tree, 1, "cpu0-gold-usr", "51700");
  WriteZone(tree, 2, "quiet-therm-adc", "34000");
  WriteZone(tree, 3, "battery", "31200");
  WriteZone(tree, 4, "camera-off", "-273000");
}

void MakeSamsung(const FakeTree& tree) {
  tree.Write("/sys/devices/system/cpu/present", "0-7\n");
  tree.Write("/sys/devices/system/cpu/online", "0-7\n");
  std::string cpuinfo;
  for (int id = 0; id < 8; ++id) {
    const char* khz = id < 4 ? "1950000" : id < 6 ? "2314000" : "2730000";
    WriteClocks(tree, id, khz, id < 6 ? khz : "1794000");
    cpuinfo += id < 4   ? ArmCpuInfo(id, "0x41", "0xd05")
               : id < 6 ? ArmCpuInfo(id, "0x41", "0xd0a")
                        : ArmCpuInfo(id, "0x53", "0x003");
  }
  tree.Write("/proc/cpuinfo", cpuinfo);
  tree.Write("/proc/self/status", "VmRSS:\t   20480 kB\nCpus_allowed_list:\t0-7\n");
  tree.Write(
      "/proc/meminfo",
      "MemTotal:        7676972 kB\nMemFree:          200000 kB\nCached:           300000 kB\n");
  WriteSupply(tree, "ac", "type", "Mains");
  WriteSupply(tree, "ac", "online", "0");
  WriteSupply(tree, "battery", "type", "Battery");
  WriteSupply(tree, "battery", "capacity", "34");
  WriteSupply(tree, "battery", "status", "Discharging");
  WriteSupply(tree, "battery", "temp", "467");
  WriteSupply(tree, "battery", "voltage_now", "3912");
  WriteSupply(tree, "battery", "current_now", "743");
  WriteZone(tree, 0, "BIG", "61");
  WriteZone(tree, 1, "LITTLE", "52");
  WriteZone(tree, 2, "G3D", "70");
}

void MakeLaptop(const FakeTree& tree) {
  tree.Write("/sys/devices/system/cpu/present", "0-3\n");
  tree.Write("/sys/devices/system/cpu/online", "0-3\n");
  std::string cpuinfo;
  for (int id = 0; id < 4; ++id) {
    WriteClocks(tree, id, "3500000", "3500000");
    tree.Write(CoreFile(id, "topology/thread_siblings_list"), id < 2 ? "0-1\n" : "2-3\n");
    cpuinfo +=
        "processor\t: " + std::to_string(id) + "\nmodel name\t: Intel(R) Core(TM) i5-7300U\n";
  }
  tree.Write("/proc/cpuinfo", cpuinfo);
  tree.Write("/proc/self/status", "VmRSS:\t   20480 kB\nCpus_allowed_list:\t0-3\n");
  tree.Write("/proc/self/cgroup", "0::/user.slice/session.scope\n");
  tree.Write("/sys/fs/cgroup/user.slice/session.scope/cpu.max", "max 100000\n");
  tree.Write("/sys/class/dmi/id/product_name", "ThinkPad X270\n");
  tree.Write("/proc/meminfo", "MemTotal:       16000000 kB\nMemAvailable:   12000000 kB\n");
  tree.Write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  WriteSupply(tree, "AC", "type", "Mains");
  WriteSupply(tree, "AC", "online", "1");
  WriteSupply(tree, "A_mouse", "type", "Battery");
  WriteSupply(tree, "A_mouse", "scope", "Device");
  WriteSupply(tree, "A_mouse", "capacity", "12");
  WriteSupply(tree, "BAT0", "type", "Battery");
  WriteSupply(tree, "BAT0", "capacity", "100");
  WriteSupply(tree, "BAT0", "status", "Full");
  WriteSupply(tree, "BAT0", "voltage_now", "12534000");
  WriteSupply(tree, "BAT0", "current_now", "0");
  WriteZone(tree, 0, "acpitz", "42000");
  WriteZone(tree, 1, "x86_pkg_temp", "47000");
}

}  // namespace shoal::os
