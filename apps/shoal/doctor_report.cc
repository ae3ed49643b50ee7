#include "shoal/doctor_report.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <cstdint>

#include "kernels/target.h"

namespace shoal {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json Optional(const Result<T>& value) {
  if (value.ok()) return *value;
  return {{"unavailable", value.status().ToString()}};
}

Json CoresJson(const os::CpuInfo& cpu) {
  Json classes = Json::array();
  for (const os::CoreClass& kind : os::CoreClasses(cpu)) {
    classes.push_back({{"model", kind.model},
                       {"mhz_max", kind.khz_max / 1000},
                       {"cores", kind.cores},
                       {"allowed", kind.allowed}});
  }
  return classes;
}

Json BatteryJson(const Result<os::Battery>& battery) {
  if (!battery.ok()) return Optional(Result<bool>(battery.status()));
  Json object = {{"name", battery->name},
                 {"percent", Optional(battery->percent)},
                 {"celsius", Optional(battery->celsius)},
                 {"volts", Optional(battery->volts)},
                 {"amperes", Optional(battery->amperes)}};
  object["status"] = battery->status.ok()
                         ? Json(std::string(os::ChargeStatusName(*battery->status)))
                         : Optional(battery->status);
  return object;
}

Json ThermalJson(const Result<os::Thermal>& thermal) {
  if (!thermal.ok()) return Optional(Result<bool>(thermal.status()));
  return {{"zones", thermal->zones.size()},
          {"cpu_celsius", Optional(thermal->cpu_celsius)},
          {"skin_celsius", Optional(thermal->skin_celsius)},
          {"battery_celsius", Optional(thermal->battery_celsius)}};
}

Json MemoryJson(const os::MemoryInfo& memory) {
  Json object = {{"bytes_total", Optional(memory.bytes_total)},
                 {"bytes_available", Optional(memory.bytes_available)},
                 {"pressure_percent", Optional(memory.pressure_percent)}};
  object["huge_pages"] = memory.huge_pages.ok()
                             ? Json(std::string(os::HugePagesName(*memory.huge_pages)))
                             : Optional(memory.huge_pages);
  return object;
}

// "battery      87 %, charging, 31.0 °C", or why it cannot be said.
struct Lines {
  void Add(std::string_view name, std::string_view value) {
    text += fmt::format("{:<12} {}\n", name, value);
  }
  static std::string Missing(const Status& why) { return fmt::format("- ({})", why.message()); }

  std::string text;
};

template <class T>
void AppendIfKnown(std::string& text, const Result<T>& value, fmt::format_string<const T&> format) {
  if (!value.ok()) return;
  if (!text.empty()) text += ", ";
  text += fmt::format(format, *value);
}

std::string BatteryText(const Result<os::Battery>& battery) {
  if (!battery.ok()) return Lines::Missing(battery.status());
  std::string text;
  AppendIfKnown(text, battery->percent, "{:.0f} %");
  if (battery->status.ok()) {
    AppendIfKnown(text, Result<std::string_view>(os::ChargeStatusName(*battery->status)), "{}");
  }
  AppendIfKnown(text, battery->celsius, "{:.1f} °C");
  AppendIfKnown(text, battery->amperes, "{:+.2f} A");
  return text.empty() ? Lines::Missing(battery->percent.status()) : text;
}

std::string ThermalText(const Result<os::Thermal>& thermal) {
  if (!thermal.ok()) return Lines::Missing(thermal.status());
  std::string text;
  AppendIfKnown(text, thermal->cpu_celsius, "CPU {:.0f} °C");
  AppendIfKnown(text, thermal->skin_celsius, "skin {:.0f} °C");
  AppendIfKnown(text, thermal->battery_celsius, "battery {:.0f} °C");
  return text.empty() ? fmt::format("{} zones, none named after a part", thermal->zones.size())
                      : text;
}

std::string MemoryText(const os::MemoryInfo& memory) {
  if (!memory.bytes_available.ok()) return Lines::Missing(memory.bytes_available.status());
  constexpr double kGibibyte = 1 << 30;
  std::string text =
      fmt::format("{:.1f} GiB free", static_cast<double>(*memory.bytes_available) / kGibibyte);
  if (memory.bytes_total.ok()) {
    text += fmt::format(" of {:.1f} GiB", static_cast<double>(*memory.bytes_total) / kGibibyte);
  }
  if (memory.huge_pages.ok()) {
    text += fmt::format(", huge pages {}", os::HugePagesName(*memory.huge_pages));
  }
  return text;
}

void AddCores(Lines& lines, const os::CpuInfo& cpu) {
  for (const os::CoreClass& kind : os::CoreClasses(cpu)) {
    std::string text =
        fmt::format("{} x {}", kind.cores.size(), kind.model.empty() ? "unknown core" : kind.model);
    if (kind.khz_max > 0)
      text += fmt::format(", {:.2f} GHz", static_cast<double>(kind.khz_max) / 1e6);
    lines.Add("cores", text + fmt::format(", {} allowed", kind.allowed));
  }
}

}  // namespace

Json ToJson(const DoctorReport& report) {
  const os::MachineInfo& machine = report.machine;
  Json json = {
      {"kernel", machine.kernel},
      {"model", Optional(machine.model)},
      {"chip", machine.cpu.chip},
      {"targets", kernels::SupportedTargetNames()},
      {"cores", CoresJson(machine.cpu)},
      {"cpuset", Optional(machine.cpu.cpuset)},
      {"memory", MemoryJson(machine.sensors.memory)},
      {"battery", BatteryJson(machine.sensors.battery)},
      {"external_power", Optional(machine.sensors.external_power)},
      {"thermal", ThermalJson(machine.sensors.thermal)},
      {"clock_limit", Optional(machine.sensors.clock_limit)},
      {"threads",
       {{"count", report.pool.threads},
        {"pinned_to", report.pool.cores},
        {"spin", report.pool.spin}}},
      {"speed",
       {{"threads", report.speeds.threads},
        {"gemm_gflops", report.speeds.gemm_gflops},
        {"memory_gb_per_s", report.speeds.memory_gb_per_s}}},
      {"advice", report.advice},
      {"warning", report.warning},
  };
  if (report.link) {
    json["link"] = {{"round_trip_ms_best", report.link->round_trip_ms_best},
                    {"round_trip_ms_median", report.link->round_trip_ms_median},
                    {"receive_mbit_per_s", report.link->receive_mbit_per_s},
                    {"send_mbit_per_s", report.link->send_mbit_per_s}};
  }
  return json;
}

std::string ToText(const DoctorReport& report) {
  const os::MachineInfo& machine = report.machine;
  Lines lines;
  lines.Add("system", machine.kernel);
  if (machine.model.ok()) lines.Add("model", *machine.model);
  if (!machine.cpu.chip.empty()) lines.Add("chip", machine.cpu.chip);
  lines.Add("kernels", fmt::format("{}", fmt::join(kernels::SupportedTargetNames(), ", ")));
  AddCores(lines, machine.cpu);
  lines.Add("memory", MemoryText(machine.sensors.memory));
  lines.Add("battery", BatteryText(machine.sensors.battery));
  lines.Add("heat", ThermalText(machine.sensors.thermal));
  const Result<double>& limit = machine.sensors.clock_limit;
  lines.Add("clock", limit.ok() ? fmt::format("up to {:.0f} % of its maximum", *limit * 100)
                                : Lines::Missing(limit.status()));
  lines.Add("GEMM",
            fmt::format("{:.1f} GFLOP/s with {} threads{}", report.speeds.gemm_gflops,
                        report.speeds.threads, report.pool.cores.empty() ? "" : ", pinned"));
  lines.Add("reading", fmt::format("{:.1f} GB/s", report.speeds.memory_gb_per_s));
  if (report.link) {
    lines.Add("link",
              fmt::format("{:.2f} ms there and back (median {:.2f}), {:.0f} Mb/s in, "
                          "{:.0f} Mb/s out",
                          report.link->round_trip_ms_best, report.link->round_trip_ms_median,
                          report.link->receive_mbit_per_s, report.link->send_mbit_per_s));
  }
  lines.text += '\n';
  for (const std::string& sentence : report.advice) {
    lines.text += fmt::format("  * {}\n", sentence);
  }
  if (report.advice.empty()) lines.text += "  All is well.\n";
  if (!report.warning.empty()) lines.text += fmt::format("  ! {}\n", report.warning);
  return lines.text;
}

}  // namespace shoal
