// Thermal zones: /sys/class/thermal, which apps usually may not read and adb shell may.
// Units are thousandths of a degree Celsius or whole degrees, by vendor: a magnitude of
// at least 1,000 is taken for the former, one up to 150 for the latter; what lies
// between, and what is not between -40 and 150 degrees, is a zone that is switched off
// or lies, and is left out.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "os/machine/sys_root.h"

namespace shoal::os {

struct ThermalZone {
  std::string type;  // The vendor's name: "cpu-1-0-usr", "skin-therm".
  double celsius = 0;
};

struct Thermal {
  std::vector<ThermalZone> zones;  // All that make sense; not empty.
  // The hottest zone whose name says that it is about the part.
  Result<double> cpu_celsius;
  Result<double> skin_celsius;
  Result<double> battery_celsius;
};

// A Status if no zone can be read: the reason of the last that failed.
Result<Thermal> ReadThermal(const SysRoot& root);

}  // namespace shoal::os
