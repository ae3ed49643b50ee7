#include "os/machine/memory.h"

#include <string>

#include "os/machine/kernel_text.h"

namespace shoal::os {
namespace {

constexpr std::string_view kMeminfo = "/proc/meminfo";

Result<std::uint64_t> Kilobytes(const SysRoot& root, std::string_view path, std::string_view key) {
  SHOAL_ASSIGN_OR_RETURN(const std::string text, root.ReadText(path));
  const std::optional<std::uint64_t> bytes = FindKilobytes(text, key);
  if (!bytes) return root.Absurd(path, "no " + std::string(key));
  return *bytes;
}

Result<std::uint64_t> ReadAvailable(const SysRoot& root) {
  Result<std::uint64_t> available = Kilobytes(root, kMeminfo, "MemAvailable");
  if (available.ok()) return available;
  // Kernels before 3.14, which phones of 2015 have: free pages and the page cache.
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t free, Kilobytes(root, kMeminfo, "MemFree"));
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t cached, Kilobytes(root, kMeminfo, "Cached"));
  return free + cached;
}

// "some avg10=0.31 avg60=0.12 avg300=0.02 total=2143432"
Result<double> ReadPressure(const SysRoot& root) {
  constexpr std::string_view kPath = "/proc/pressure/memory";
  constexpr std::string_view kKey = "some avg10=";
  SHOAL_ASSIGN_OR_RETURN(const std::string text, root.ReadText(kPath));
  const std::size_t at = text.find(kKey);
  if (at == std::string::npos) return root.Absurd(kPath, "no avg10");
  std::string_view number = std::string_view(text).substr(at + kKey.size());
  number = number.substr(0, number.find_first_of(" \n"));
  const std::optional<double> percent = ParseFraction(number);
  if (!percent || *percent > 100) return root.Absurd(kPath, "not a percentage");
  return *percent;
}

// "always [madvise] never": the brackets mark the mode in force.
Result<HugePages> ReadHugePages(const SysRoot& root) {
  constexpr std::string_view kPath = "/sys/kernel/mm/transparent_hugepage/enabled";
  SHOAL_ASSIGN_OR_RETURN(const std::string text, root.ReadText(kPath));
  if (text.find("[never]") != std::string::npos) return HugePages::kNever;
  if (text.find("[madvise]") != std::string::npos) return HugePages::kOnRequest;
  if (text.find("[always]") != std::string::npos) return HugePages::kAlways;
  return root.Absurd(kPath, "unknown mode");
}

}  // namespace

std::string_view HugePagesName(HugePages mode) {
  switch (mode) {
    case HugePages::kNever:
      return "never";
    case HugePages::kOnRequest:
      return "on request";
    case HugePages::kAlways:
      return "always";
  }
  return "unknown";
}

MemoryInfo ReadMemoryInfo(const SysRoot& root) {
  return MemoryInfo{.bytes_total = Kilobytes(root, kMeminfo, "MemTotal"),
                    .bytes_available = ReadAvailable(root),
                    .bytes_resident = Kilobytes(root, "/proc/self/status", "VmRSS"),
                    .pressure_percent = ReadPressure(root),
                    .huge_pages = ReadHugePages(root)};
}

Result<std::uint64_t> ReadPeakResident(const SysRoot& root) {
  return Kilobytes(root, "/proc/self/status", "VmHWM");
}

}  // namespace shoal::os
