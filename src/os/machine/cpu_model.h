// What /proc/cpuinfo says about a processor's make.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace shoal::os {

struct CpuModels {
  // The chip ("Qualcomm Technologies, Inc SM8150") or the x86 processor; empty if not said.
  std::string chip;
  // By core: "Cortex-A76", or the x86 processor's name. ARM kernels list only cores
  // that are online.
  std::map<int, std::string> cores;
};

// Understands ARM's and x86's form of the text; other text gives an empty result.
CpuModels ParseCpuInfo(std::string_view cpuinfo);

// "Cortex-A76", or "ARM 0x41/0xd0b" for one that is not in the table.
std::string ArmPartName(std::int64_t implementer, std::int64_t part);

}  // namespace shoal::os
