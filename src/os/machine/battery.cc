#include "os/machine/battery.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace shoal::os {
namespace {

constexpr std::string_view kSupplies = "/sys/class/power_supply";

std::string SupplyPath(std::string_view name, std::string_view file) {
  return std::string(kSupplies).append("/").append(name).append("/").append(file);
}

// `raw` * unit if that is in [low, high].
Result<double> Scaled(const SysRoot& root, const std::string& path, std::int64_t raw, double unit,
                      double low, double high) {
  const double value = static_cast<double>(raw) * unit;
  if (value < low || value > high) {
    return root.Absurd(path, std::to_string(raw) + " is absurd");
  }
  return value;
}

Result<double> ReadPercent(const SysRoot& root, const std::string& name) {
  SHOAL_ASSIGN_OR_RETURN(const std::int64_t percent,
                         root.ReadInteger(SupplyPath(name, "capacity"), 0, 100));
  return static_cast<double>(percent);
}

Result<ChargeStatus> ReadStatus(const SysRoot& root, const std::string& name) {
  const std::string path = SupplyPath(name, "status");
  SHOAL_ASSIGN_OR_RETURN(const std::string text, root.ReadText(path));
  for (const ChargeStatus status :
       {ChargeStatus::kUnknown, ChargeStatus::kCharging, ChargeStatus::kDischarging,
        ChargeStatus::kNotCharging, ChargeStatus::kFull}) {
    if (text == ChargeStatusName(status)) return status;
  }
  return root.Absurd(path, "unknown status");
}

Result<double> ReadCelsius(const SysRoot& root, const std::string& name) {
  const std::string path = SupplyPath(name, "temp");
  SHOAL_ASSIGN_OR_RETURN(const std::int64_t raw, root.ReadInteger(path));
  // A battery below -40 or above 120 degrees is a broken sensor, or not a battery any more.
  return Scaled(root, path, raw, 0.1, -40, 120);
}

Result<double> ReadVolts(const SysRoot& root, const std::string& name) {
  const std::string path = SupplyPath(name, "voltage_now");
  SHOAL_ASSIGN_OR_RETURN(const std::int64_t raw, root.ReadInteger(path));
  constexpr std::int64_t kMicrovoltsMin = 100'000;
  // One empty cell has 2 V, the largest laptop packs 25 V.
  return Scaled(root, path, raw, raw < kMicrovoltsMin ? 1e-3 : 1e-6, 2, 25);
}

Result<double> ReadAmperes(const SysRoot& root, const std::string& name,
                           const Result<ChargeStatus>& status) {
  const std::string path = SupplyPath(name, "current_now");
  SHOAL_ASSIGN_OR_RETURN(const std::int64_t raw, root.ReadInteger(path));
  constexpr std::int64_t kMicroamperesMin = 10'000;
  const bool milli = raw > -kMicroamperesMin && raw < kMicroamperesMin;
  // The fastest chargers of phones and laptops stay below 20 A.
  SHOAL_ASSIGN_OR_RETURN(const double amperes,
                         Scaled(root, path, raw, milli ? 1e-3 : 1e-6, -20, 20));
  if (status.ok() && *status == ChargeStatus::kCharging) return std::abs(amperes);
  if (status.ok() && *status == ChargeStatus::kDischarging) return -std::abs(amperes);
  return amperes;
}

// Where a battery may be, best first. The usual names are tried even if the directory
// may not be listed; "bms" is Qualcomm's fuel gauge.
std::vector<std::string> BatteryNames(const SysRoot& root) {
  std::vector<std::string> names = {"battery", "Battery", "bms"};
  const auto listed = root.List(kSupplies);
  if (!listed.ok()) return names;
  for (const std::string& name : *listed) {
    const auto type = root.ReadText(SupplyPath(name, "type"));
    const auto scope = root.ReadText(SupplyPath(name, "scope"));
    const bool of_a_peripheral = scope.ok() && *scope == "Device";
    if (type.ok() && *type == "Battery" && !of_a_peripheral) names.push_back(name);
  }
  return names;
}

}  // namespace

std::string_view ChargeStatusName(ChargeStatus status) {
  switch (status) {
    case ChargeStatus::kUnknown:
      return "Unknown";
    case ChargeStatus::kCharging:
      return "Charging";
    case ChargeStatus::kDischarging:
      return "Discharging";
    case ChargeStatus::kNotCharging:
      return "Not charging";
    case ChargeStatus::kFull:
      return "Full";
  }
  return "Unknown";
}

Result<Battery> ReadBattery(const SysRoot& root) {
  std::optional<std::string> chosen;
  for (const std::string& name : BatteryNames(root)) {
    const auto percent = ReadPercent(root, name);
    if (!percent.ok() && percent.status().code() == Code::kNotFound) continue;
    if (!chosen || percent.ok()) chosen = name;
    if (percent.ok()) break;
  }
  if (!chosen) {
    auto listed = root.List(kSupplies);
    if (!listed.ok()) return std::move(listed).status();
    return Status(Code::kNotFound, "no battery in " + std::string(kSupplies));
  }
  Result<ChargeStatus> status = ReadStatus(root, *chosen);
  Result<double> amperes = ReadAmperes(root, *chosen, status);
  return Battery{.name = *chosen,
                 .percent = ReadPercent(root, *chosen),
                 .status = std::move(status),
                 .celsius = ReadCelsius(root, *chosen),
                 .volts = ReadVolts(root, *chosen),
                 .amperes = std::move(amperes)};
}

Result<bool> ReadExternalPower(const SysRoot& root) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<std::string> names, root.List(kSupplies));
  Status why(Code::kNotFound, "no charger in " + std::string(kSupplies));
  constexpr std::int64_t kOnlineMax = 2;  // 0: no, 1: at a fixed voltage, 2: at a chosen one.
  bool known = false;
  for (const std::string& name : names) {
    const auto type = root.ReadText(SupplyPath(name, "type"));
    if (type.ok() && (*type == "Battery" || *type == "BMS" || *type == "UPS")) continue;
    auto online = root.ReadInteger(SupplyPath(name, "online"), 0, kOnlineMax);
    if (online.ok() && *online > 0) return true;
    if (online.ok()) known = true;
    if (!online.ok() && online.status().code() != Code::kNotFound) why = online.status();
  }
  if (!known) return why;
  return false;
}

}  // namespace shoal::os
