// AdviseOwner, WarnOfBattery: readings turned into sentences. Pure.
#include <algorithm>
#include <cstdio>

#include "os/machine/machine_info.h"

namespace shoal::os {
namespace {

using Sentences = std::vector<std::string>;

std::string Number(double value, const char* format) {
  char text[32];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

std::string Cores(std::size_t n, const std::string& kind = "") {
  return std::to_string(n) + " " + kind + (n == 1 ? "core is" : "cores are");
}

// "background cpuset", or what else can bound the cores.
std::string WhoBoundsCores(const CpuInfo& cpu) {
  if (!cpu.cpuset.ok()) return "CPU affinity";
  const std::string name = cpu.cpuset->substr(cpu.cpuset->rfind('/') + 1);
  return name.empty() ? "CPU affinity" : name + " cpuset";
}

void AdviseOnCores(const CpuInfo& cpu, Sentences& out) {
  std::size_t online = 0;
  std::size_t allowed = 0;
  for (const Core& core : cpu.cores) {
    online += core.online ? 1 : 0;
    allowed += core.allowed ? 1 : 0;
  }
  const std::vector<CoreClass> classes = CoreClasses(cpu);
  const bool only_little = classes.size() > 1 && classes.back().allowed == allowed;
  if (allowed < online) {
    out.push_back(WhoBoundsCores(cpu) + ": only " +
                  (only_little ? Cores(allowed, "little ")
                               : std::to_string(allowed) + " of " + Cores(online)) +
                  " allowed");
  }
  if (online < cpu.cores.size()) {
    out.push_back(Cores(cpu.cores.size() - online) +
                  " switched off by the system, to save power or because of heat");
  }
  if (cpu.quota_cores.ok() && *cpu.quota_cores < static_cast<double>(allowed)) {
    out.push_back("the container may use the time of " + Number(*cpu.quota_cores, "%.1f") +
                  " cores only");
  }
}

void AdviseOnHeat(const Sensors& sensors, Sentences& out) {
  // Governors round a limit to a clock step; a real cap is lower than that.
  constexpr double kLimitNoticed = 0.95;
  if (sensors.clock_limit.ok() && *sensors.clock_limit < kLimitNoticed) {
    out.push_back("the clock is limited to " + Number(*sensors.clock_limit * 100, "%.0f") +
                  " % of its maximum: the phone is hot or saves power");
  }
  // Lithium cells age fast above it, and phones stop charging a little later.
  constexpr double kBatteryHotCelsius = 45;
  if (sensors.battery.ok() && sensors.battery->celsius.ok() &&
      *sensors.battery->celsius >= kBatteryHotCelsius) {
    out.push_back("the battery has " + Number(*sensors.battery->celsius, "%.0f") +
                  " degrees: cool it or take it out of the rack");
  }
}

void AdviseOnPower(const Sensors& sensors, Sentences& out) {
  const bool discharging = sensors.battery.ok() && sensors.battery->status.ok() &&
                           *sensors.battery->status == ChargeStatus::kDischarging;
  if (!discharging) return;
  const bool plugged = sensors.external_power.ok() && *sensors.external_power;
  const Result<double>& percent = sensors.battery->percent;
  const std::string level = percent.ok() ? " (" + Number(*percent, "%.0f") + " % left)" : "";
  out.push_back(plugged ? "the battery is losing charge although a charger is connected" + level
                        : "running on battery" + level + ": connect a charger");
}

void AdviseOnMemory(const MemoryInfo& memory, Sentences& out) {
  // Android begins to kill background processes at about this share.
  constexpr double kShareMin = 0.1;
  if (!memory.bytes_total.ok() || !memory.bytes_available.ok()) return;
  const double available = static_cast<double>(*memory.bytes_available);
  if (available >= kShareMin * static_cast<double>(*memory.bytes_total)) return;
  constexpr double kMebibyte = 1 << 20;
  out.push_back("only " + Number(available / kMebibyte, "%.0f") +
                " MiB of memory are left: close other apps");
}

void AdviseOnBlindness(const Sensors& sensors, Sentences& out) {
  const Status& why =
      sensors.battery.ok() ? sensors.battery->percent.status() : sensors.battery.status();
  if (why.code() != Code::kUnavailable) return;  // Readable, or there is no battery.
  out.push_back("the battery cannot be read (" + std::string(why.message()) +
                "): heat shows only in the step time; adb shell may read more than an app");
}

}  // namespace

std::vector<std::string> AdviseOwner(const MachineInfo& machine) {
  Sentences out;
  AdviseOnCores(machine.cpu, out);
  AdviseOnHeat(machine.sensors, out);
  AdviseOnPower(machine.sensors, out);
  AdviseOnMemory(machine.sensors.memory, out);
  AdviseOnBlindness(machine.sensors, out);
  return out;
}

std::string WarnOfBattery(const MachineInfo& machine) {
  const Result<Battery>& battery = machine.sensors.battery;
  if (!battery.ok() && battery.status().code() == Code::kNotFound) return "";
  return "a battery that is kept full while the phone computes swells within weeks: limit its "
         "charge to 80 % in the phone's settings, and take a phone whose screen or back lifts "
         "out of use";
}

}  // namespace shoal::os
