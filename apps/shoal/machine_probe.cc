#include "shoal/machine_probe.h"

#include <sstream>
#include <string>
#include <utility>

#include "os/machine/sensors.h"

namespace shoal {

MachineProbe::MachineProbe(const os::SysRoot& root, std::vector<int> cores)
    : root_(root), cores_(std::move(cores)) {}

void MachineProbe::Read(wire::pb::Telemetry& telemetry) {
  const os::Sensors sensors = os::ReadSensors(root_, cores_);
  if (const std::optional<double> share = CpuShare()) telemetry.set_cpu_share(*share);
  if (sensors.memory.bytes_available.ok()) {
    telemetry.set_memory_free(*sensors.memory.bytes_available);
  }
  if (sensors.memory.pressure_percent.ok()) {
    telemetry.set_memory_pressure(*sensors.memory.pressure_percent / 100);
  }
  if (!sensors.battery.ok()) return;
  const os::Battery& battery = *sensors.battery;
  if (battery.percent.ok()) telemetry.set_battery_level(*battery.percent / 100);
  if (battery.amperes.ok()) telemetry.set_battery_amperes(*battery.amperes);
  if (battery.celsius.ok()) telemetry.set_battery_celsius(*battery.celsius);
}

// Since the last call. Android hides /proc/stat from apps: then there is no share.
std::optional<double> MachineProbe::CpuShare() {
  const Result<std::string> text = root_.ReadText("/proc/stat");
  if (!text.ok()) return std::nullopt;
  // "cpu  user nice system idle iowait irq softirq steal ..."
  std::istringstream line(*text);
  std::string name;
  line >> name;
  if (name != "cpu") return std::nullopt;
  std::uint64_t total = 0;
  std::uint64_t idle = 0;
  std::uint64_t value = 0;
  for (int i = 0; i < 8 && line >> value; ++i) {
    total += value;
    if (i == 3 || i == 4) idle += value;
  }
  const std::uint64_t busy = total - idle;
  const std::uint64_t passed = total - std::exchange(total_, total);
  const std::uint64_t worked = busy - std::exchange(busy_, busy);
  if (passed == 0 || passed == total || worked > passed) return std::nullopt;
  return static_cast<double>(worked) / static_cast<double>(passed);
}

}  // namespace shoal
