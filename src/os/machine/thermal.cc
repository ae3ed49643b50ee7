#include "os/machine/thermal.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace shoal::os {
namespace {

constexpr std::string_view kThermal = "/sys/class/thermal";

std::optional<double> ToCelsius(std::int64_t raw) {
  constexpr std::int64_t kMilliMin = 1'000, kMilliMax = 150'000, kMilliLow = -40'000;
  constexpr std::int64_t kDegreesMax = 150, kDegreesLow = -40;
  if (raw >= kDegreesLow && raw <= kDegreesMax) return static_cast<double>(raw);
  const bool milli = raw >= kMilliMin || raw <= -kMilliMin;
  if (!milli || raw < kMilliLow || raw > kMilliMax) return std::nullopt;
  return static_cast<double>(raw) / 1000;
}

Result<ThermalZone> ReadZone(const SysRoot& root, const std::string& name) {
  const std::string directory = std::string(kThermal) + "/" + name;
  SHOAL_ASSIGN_OR_RETURN(std::string type, root.ReadText(directory + "/type"));
  SHOAL_ASSIGN_OR_RETURN(const std::int64_t raw, root.ReadInteger(directory + "/temp"));
  const std::optional<double> celsius = ToCelsius(raw);
  if (!celsius) return root.Absurd(directory + "/temp", std::to_string(raw) + " is absurd");
  return ThermalZone{std::move(type), *celsius};
}

std::string Lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return text;
}

// The hottest zone whose type contains one of `parts` or is one of `names`.
Result<double> Hottest(const std::vector<ThermalZone>& zones, std::string_view what,
                       std::initializer_list<std::string_view> parts,
                       std::initializer_list<std::string_view> names = {}) {
  std::optional<double> hottest;
  for (const ThermalZone& zone : zones) {
    const std::string type = Lower(zone.type);
    const bool matches = std::find(names.begin(), names.end(), type) != names.end() ||
                         std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
                           return type.find(part) != std::string::npos;
                         });
    if (matches) hottest = std::max(hottest.value_or(zone.celsius), zone.celsius);
  }
  if (hottest) return *hottest;
  return Status(Code::kNotFound, "none of " + std::to_string(zones.size()) +
                                     " thermal zones is the " + std::string(what));
}

}  // namespace

Result<Thermal> ReadThermal(const SysRoot& root) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<std::string> names, root.List(kThermal));
  constexpr std::string_view kZone = "thermal_zone";
  std::vector<ThermalZone> zones;
  Status why(Code::kNotFound, "no thermal zone in " + std::string(kThermal));
  for (const std::string& name : names) {
    if (name.compare(0, kZone.size(), kZone) != 0) continue;
    Result<ThermalZone> zone = ReadZone(root, name);
    if (zone.ok()) {
      zones.push_back(*std::move(zone));
    } else {
      why = std::move(zone).status();
    }
  }
  if (zones.empty()) return why;
  // cpu: Qualcomm, MediaTek and most others; x86_pkg: Intel; big, mid, little: Exynos and
  // Tensor clusters; ap: Samsung's application processor. quiet: Qualcomm's sensor that
  // stands for the case.
  Result<double> cpu =
      Hottest(zones, "CPU", {"cpu", "x86_pkg", "soc"}, {"ap", "big", "mid", "little"});
  Result<double> skin = Hottest(zones, "skin", {"skin", "quiet"});
  Result<double> battery = Hottest(zones, "battery", {"batt", "bms"});
  return Thermal{.zones = std::move(zones),
                 .cpu_celsius = std::move(cpu),
                 .skin_celsius = std::move(skin),
                 .battery_celsius = std::move(battery)};
}

}  // namespace shoal::os
