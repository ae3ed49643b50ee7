// Sensors: what changes while a node works, read anew for every telemetry message.
// Every one is optional. The one that always works is not here: a node's own step time
// against its rolling best.
#pragma once

#include <vector>

#include "base/status.h"
#include "os/machine/battery.h"
#include "os/machine/memory.h"
#include "os/machine/sys_root.h"
#include "os/machine/thermal.h"

namespace shoal::os {

struct Sensors {
  Result<Battery> battery;
  Result<bool> external_power;
  Result<Thermal> thermal;
  Result<double> clock_limit;  // See ReadClockLimit in cpu.h.
  MemoryInfo memory;
};

// Reads all of them, in the calling thread; a phone with a hundred thermal zones takes
// some milliseconds. `cores`: those that compute. Never fails.
Sensors ReadSensors(const SysRoot& root, const std::vector<int>& cores);

}  // namespace shoal::os
