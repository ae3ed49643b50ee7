// Memory: what there is, what is left, what we use. Decides batch sizes and how many
// layers a phone is given, so "left" is what can be had without driving others out.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "os/machine/sys_root.h"

namespace shoal::os {

// Whether the kernel gives anonymous memory in pages of 2 MiB.
enum class HugePages : std::uint8_t {
  kNever,
  kOnRequest,  // Where madvise asks for it.
  kAlways,
};
std::string_view HugePagesName(HugePages mode);

struct MemoryInfo {
  Result<std::uint64_t> bytes_total;
  // Free, or droppable without swapping.
  Result<std::uint64_t> bytes_available;
  // Of this process, in memory now; pages of mapped files that are in memory count.
  Result<std::uint64_t> bytes_resident;
  // Percent of the last 10 s in which some process waited for memory. Apps may not read
  // it on most phones.
  Result<double> pressure_percent;
  Result<HugePages> huge_pages;
};

// Never fails: each field says why it has no value.
MemoryInfo ReadMemoryInfo(const SysRoot& root);

// The most that this process had in memory at any time.
Result<std::uint64_t> ReadPeakResident(const SysRoot& root);

}  // namespace shoal::os
