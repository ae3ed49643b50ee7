#include "os/machine/affinity.h"

#include <sched.h>

#include <cerrno>
#include <cstddef>
#include <string>

#include "os/file.h"
#include "os/machine/kernel_text.h"

namespace shoal::os {
namespace {

// cpu_set_t has 1024 bits; the kernel wants room for as many CPUs as it was built for.
struct CpuMask {
  static constexpr std::size_t kCount = kCpusMax / CPU_SETSIZE;
  cpu_set_t sets[kCount] = {};

  static std::size_t Set(int cpu) { return static_cast<std::size_t>(cpu) / CPU_SETSIZE; }
  static std::size_t Bit(int cpu) { return static_cast<std::size_t>(cpu) % CPU_SETSIZE; }
};

}  // namespace

Result<std::vector<int>> AllowedCpus() {
  CpuMask mask;
  if (::sched_getaffinity(0, sizeof(mask.sets), mask.sets) != 0) {
    return ErrnoStatus(errno, "sched_getaffinity");
  }
  std::vector<int> cpus;
  for (int cpu = 0; cpu < kCpusMax; ++cpu) {
    if (CPU_ISSET(CpuMask::Bit(cpu), &mask.sets[CpuMask::Set(cpu)])) cpus.push_back(cpu);
  }
  if (cpus.empty()) return Status(Code::kUnavailable, "sched_getaffinity: no CPU is allowed");
  return cpus;
}

Status PinThisThread(int cpu) {
  if (cpu < 0 || cpu >= kCpusMax) return Status(Code::kInvalidArgument, "no such CPU");
  CpuMask mask;
  CPU_SET(CpuMask::Bit(cpu), &mask.sets[CpuMask::Set(cpu)]);
  if (::sched_setaffinity(0, sizeof(mask.sets), mask.sets) != 0) {
    return ErrnoStatus(errno, "sched_setaffinity to CPU " + std::to_string(cpu));
  }
  return {};
}

}  // namespace shoal::os
