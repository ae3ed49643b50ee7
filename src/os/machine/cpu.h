// Cores: how many there are, how fast each is, and which of them are ours. A phone
// has two or three kinds of cores, may allow a background process only the slow ones,
// and takes cores offline when it is hot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "os/machine/sys_root.h"

namespace shoal::os {

struct Core {
  int id = 0;            // N of cpuN.
  bool online = true;    // Not unplugged by the system.
  bool allowed = true;   // This process may run on it.
  int sibling_rank = 0;  // 0 for the first allowed hardware thread of a physical core.
  std::string model;     // "Cortex-A76"; empty if unknown.

  Result<std::int64_t> khz_max;    // What it was built for.
  Result<std::int64_t> khz_limit;  // What heat, power saving or a governor allow now.
  Result<std::int64_t> khz_now;    // Low when idle: says something only under load.
  Result<std::int64_t> capacity;   // 1024 is the machine's fastest core, at its fastest.
};

// Cores that are alike: "4 x Cortex-A76 at 2.84 GHz, 2 allowed".
struct CoreClass {
  std::string model;
  std::int64_t khz_max = 0;   // 0 if unknown.
  std::int64_t capacity = 0;  // 0 if unknown.
  std::vector<int> cores;     // Their ids, sorted.
  std::size_t allowed = 0;    // How many of them are allowed.
};

struct CpuInfo {
  std::string chip;            // Empty if not said.
  std::vector<Core> cores;     // By id; never empty.
  Result<std::string> cpuset;  // "/background": the group that bounds the allowed cores.
  Result<double> quota_cores;  // CPU time per time, if a container limits it.
};

// Reads everything; costs some ten file reads a core. Never fails: what is not known is
// said in the fields, and without any information there is one allowed core.
CpuInfo ReadCpuInfo(const SysRoot& root);

// Of the cores that are online, fastest class first.
std::vector<CoreClass> CoreClasses(const CpuInfo& cpu);

// Up to n allowed cores to pin threads to, fastest first: first one hardware thread of
// every physical core. Fewer than n if no more are allowed.
std::vector<int> FastestCores(const CpuInfo& cpu, std::size_t n);

// How many threads compute best: one for each physical core that is allowed and at
// least half as fast as the fastest allowed one. Slower ones make the others wait (two
// threads beat four on a phone in the background). At least 1.
std::size_t FastCoreCount(const CpuInfo& cpu);

// How much of its top speed the slowest-limited of `cores` may use now, in (0, 1]: below
// 1, the phone throttles. A Status if no core says.
Result<double> ReadClockLimit(const SysRoot& root, const std::vector<int>& cores);

}  // namespace shoal::os
