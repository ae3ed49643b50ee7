#include "shoal/machine_probe.h"

#include <limits>
#include <sstream>
#include <string>
#include <utility>

#include "os/machine/sensors.h"

namespace shoal {
namespace {

// Less than this is what a gauge is wrong by.
constexpr double kAmperesTelling = 0.05;

// What a sensor says; NaN if that cannot be, which is not the same as silence.
std::optional<double> Reading(const Result<double>& value) {
  if (value.ok()) return *value;
  if (value.status().code() == Code::kCorruption) return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

// Whether a charger delivers, as far as that can be known. One that is connected and does not keep
// up with what the phone takes does not.
std::optional<bool> Charging(const os::Sensors& sensors) {
  if (!sensors.battery.ok()) {
    // Without a battery it runs on the mains.
    if (sensors.battery.status().code() == Code::kNotFound) return true;
    return sensors.external_power.ok() ? std::optional(*sensors.external_power) : std::nullopt;
  }
  const os::Battery& battery = *sensors.battery;
  const bool empties = battery.status.ok() && *battery.status == os::ChargeStatus::kDischarging;
  if (sensors.external_power.ok() && *sensors.external_power) {
    return !(empties && battery.amperes.ok() && *battery.amperes < -kAmperesTelling);
  }
  if (battery.status.ok() && (*battery.status == os::ChargeStatus::kCharging ||
                              *battery.status == os::ChargeStatus::kFull)) {
    return true;
  }
  if (empties || sensors.external_power.ok()) return false;
  return std::nullopt;
}

}  // namespace

MachineProbe::MachineProbe(const os::SysRoot& root, std::vector<int> cores, double watts)
    : root_(root), cores_(std::move(cores)), watts_(watts) {}

void MachineProbe::Read(wire::pb::Telemetry& telemetry) {
  const os::Sensors sensors = os::ReadSensors(root_, cores_);
  if (const std::optional<double> share = CpuShare()) telemetry.set_cpu_share(*share);
  if (sensors.memory.bytes_available.ok()) {
    telemetry.set_memory_free(*sensors.memory.bytes_available);
  }
  if (sensors.memory.pressure_percent.ok()) {
    telemetry.set_memory_pressure(*sensors.memory.pressure_percent / 100);
  }
  if (watts_ > 0) {
    telemetry.set_watts(watts_);
    telemetry.set_watts_estimated(true);
  }
  if (const std::optional<bool> charging = Charging(sensors)) telemetry.set_charging(*charging);
  if (!sensors.battery.ok()) return;
  const os::Battery& battery = *sensors.battery;
  if (const auto percent = Reading(battery.percent)) telemetry.set_battery_level(*percent / 100);
  if (const auto amperes = Reading(battery.amperes)) telemetry.set_battery_amperes(*amperes);
  // A battery that is being charged does not tell what the rest of the device takes.
  if (battery.amperes.ok() && battery.volts.ok() && *battery.amperes < 0) {
    telemetry.set_watts(-*battery.amperes * *battery.volts);
    telemetry.set_watts_estimated(false);
  }
  if (const auto celsius = Reading(battery.celsius)) telemetry.set_battery_celsius(*celsius);
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
