// MachineInfo: everything that can be said about a machine without making it work,
// for `shoal doctor` and for a node's first message. Benchmarks are not in it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "os/machine/cpu.h"
#include "os/machine/sensors.h"
#include "os/machine/sys_root.h"

namespace shoal::os {

struct MachineInfo {
  std::string kernel;         // "Linux 6.1.0 aarch64"
  Result<std::string> model;  // The board or product, as its firmware calls it.
  CpuInfo cpu;
  Sensors sensors;
};

// Never fails; takes milliseconds.
MachineInfo ReadMachineInfo(const SysRoot& root);

// What the owner should know or do, in plain words, most important first; empty if all is
// well: "background cpuset: only 2 little cores are allowed".
std::vector<std::string> AdviseOwner(const MachineInfo& machine);

// What everybody should know who lets a device with a battery compute for weeks, however well it is
// now. Empty: it has none.
std::string WarnOfBattery(const MachineInfo& machine);

}  // namespace shoal::os
