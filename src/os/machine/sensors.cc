#include "os/machine/sensors.h"

#include "os/machine/cpu.h"

namespace shoal::os {

Sensors ReadSensors(const SysRoot& root, const std::vector<int>& cores) {
  return Sensors{.battery = ReadBattery(root),
                 .external_power = ReadExternalPower(root),
                 .thermal = ReadThermal(root),
                 .clock_limit = ReadClockLimit(root, cores),
                 .memory = ReadMemoryInfo(root)};
}

}  // namespace shoal::os
