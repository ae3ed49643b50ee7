#include "os/machine/cpu_model.h"

#include <cstdio>
#include <optional>

#include "os/machine/kernel_text.h"

namespace shoal::os {
namespace {

struct ArmPart {
  std::int64_t implementer;
  std::int64_t part;
  const char* name;
};

constexpr std::int64_t kArm = 0x41, kHiSilicon = 0x48, kQualcomm = 0x51, kSamsung = 0x53;

// The cores of phones since 2014 and of the servers people test on. The numbers are
// implementer and part in the main ID register (MIDR_EL1).
constexpr ArmPart kArmParts[] = {
    {kArm, 0xd03, "Cortex-A53"},         {kArm, 0xd04, "Cortex-A35"},
    {kArm, 0xd05, "Cortex-A55"},         {kArm, 0xd07, "Cortex-A57"},
    {kArm, 0xd08, "Cortex-A72"},         {kArm, 0xd09, "Cortex-A73"},
    {kArm, 0xd0a, "Cortex-A75"},         {kArm, 0xd0b, "Cortex-A76"},
    {kArm, 0xd0c, "Neoverse-N1"},        {kArm, 0xd0d, "Cortex-A77"},
    {kArm, 0xd40, "Neoverse-V1"},        {kArm, 0xd41, "Cortex-A78"},
    {kArm, 0xd44, "Cortex-X1"},          {kArm, 0xd46, "Cortex-A510"},
    {kArm, 0xd47, "Cortex-A710"},        {kArm, 0xd48, "Cortex-X2"},
    {kArm, 0xd49, "Neoverse-N2"},        {kArm, 0xd4d, "Cortex-A715"},
    {kArm, 0xd4e, "Cortex-X3"},          {kArm, 0xd80, "Cortex-A520"},
    {kArm, 0xd81, "Cortex-A720"},        {kArm, 0xd82, "Cortex-X4"},
    {kHiSilicon, 0xd40, "Cortex-A76"},   {kQualcomm, 0x201, "Kryo Silver"},
    {kQualcomm, 0x205, "Kryo Gold"},     {kQualcomm, 0x211, "Kryo Silver"},
    {kQualcomm, 0x800, "Kryo 2xx Gold"}, {kQualcomm, 0x801, "Kryo 2xx Silver"},
    {kQualcomm, 0x802, "Kryo 3xx Gold"}, {kQualcomm, 0x803, "Kryo 3xx Silver"},
    {kQualcomm, 0x804, "Kryo 4xx Gold"}, {kQualcomm, 0x805, "Kryo 4xx Silver"},
    {kSamsung, 0x001, "Exynos M1"},      {kSamsung, 0x002, "Exynos M3"},
    {kSamsung, 0x003, "Exynos M4"},      {kSamsung, 0x004, "Exynos M5"},
};

}  // namespace

std::string ArmPartName(std::int64_t implementer, std::int64_t part) {
  for (const ArmPart& row : kArmParts) {
    if (row.implementer == implementer && row.part == part) return row.name;
  }
  char text[64];
  std::snprintf(text, sizeof(text), "ARM 0x%llx/0x%llx",
                static_cast<unsigned long long>(implementer),
                static_cast<unsigned long long>(part));
  return text;
}

CpuModels ParseCpuInfo(std::string_view cpuinfo) {
  constexpr std::int64_t kUnknown = -1;
  CpuModels models;
  std::optional<int> core;
  std::int64_t implementer = kUnknown;
  ForEachField(cpuinfo, [&](std::string_view key, std::string_view value) {
    if (key == "processor") {
      const std::optional<std::int64_t> id = ParseInteger(value);
      core = id && *id >= 0 && *id < kCpusMax ? std::optional(static_cast<int>(*id)) : std::nullopt;
      implementer = kUnknown;
    } else if (key == "CPU implementer") {
      implementer = ParseInteger(value).value_or(kUnknown);
    } else if (key == "CPU part") {
      const std::int64_t part = ParseInteger(value).value_or(kUnknown);
      if (core && implementer != kUnknown && part != kUnknown) {
        models.cores[*core] = ArmPartName(implementer, part);
      }
    } else if (key == "model name") {
      // 32-bit ARM kernels write a line of this name too; the part that follows says more.
      if (core) models.cores[*core] = value;
      if (models.chip.empty()) models.chip = value;
    } else if (key == "Hardware") {
      models.chip = value;
    }
  });
  return models;
}

}  // namespace shoal::os
