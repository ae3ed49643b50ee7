#include "kernels/target.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace shoal::kernels {
namespace {

constexpr std::array<std::pair<Target, std::string_view>, 6> kNames = {{
    {Target::kAvx512, "avx512"},
    {Target::kAvx2, "avx2"},
    {Target::kI8mm, "i8mm"},
    {Target::kDotprod, "dotprod"},
    {Target::kNeon, "neon"},
    {Target::kRef, "ref"},
}};

#if defined(__x86_64__)
// Clang 14 does not know "f16c" as a feature to ask for.
bool HasF16c() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

std::vector<Target> Detect() {
  std::vector<Target> found;
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi2") && HasF16c();
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512) found.push_back(Target::kAvx512);
  if (avx2) found.push_back(Target::kAvx2);
  found.push_back(Target::kRef);
  return found;
}
#elif defined(__aarch64__)
std::vector<Target> Detect() {
  // Bits of the kernel's ABI; an old libc's headers may lack the second.
  constexpr unsigned long kHwcapAsimdDp = 1UL << 20U;
  constexpr unsigned long kHwcap2I8mm = 1UL << 13U;
  std::vector<Target> found;
  const bool dotprod = (getauxval(AT_HWCAP) & kHwcapAsimdDp) != 0;
  const bool i8mm = dotprod && (getauxval(AT_HWCAP2) & kHwcap2I8mm) != 0;
  if (i8mm) found.push_back(Target::kI8mm);
  if (dotprod) found.push_back(Target::kDotprod);
  found.push_back(Target::kNeon);
  found.push_back(Target::kRef);
  return found;
}
#else
std::vector<Target> Detect() { return {Target::kRef}; }
#endif

std::atomic<Target>& Best() {
  static std::atomic<Target> best = SupportedTargets().front();
  return best;
}

}  // namespace

std::string_view TargetName(Target target) {
  for (const auto& [known, name] : kNames) {
    if (known == target) return name;
  }
  return "unknown";
}

std::optional<Target> ParseTarget(std::string_view name) {
  for (const auto& [target, known] : kNames) {
    if (known == name) return target;
  }
  return std::nullopt;
}

std::ostream& operator<<(std::ostream& out, Target target) { return out << TargetName(target); }

std::span<const Target> SupportedTargets() {
  static const std::vector<Target> supported = Detect();
  return supported;
}

Target BestTarget() { return Best().load(std::memory_order_relaxed); }

ScopedBestTarget::ScopedBestTarget(Target target) : before_(BestTarget()) {
  const std::span<const Target> supported = SupportedTargets();
  SHOAL_CHECK(std::find(supported.begin(), supported.end(), target) != supported.end());
  Best() = target;
}

ScopedBestTarget::~ScopedBestTarget() { Best() = before_; }

std::vector<std::string> SupportedTargetNames() {
  std::vector<std::string> names;
  for (const Target target : SupportedTargets()) names.emplace_back(TargetName(target));
  return names;
}

}  // namespace shoal::kernels
