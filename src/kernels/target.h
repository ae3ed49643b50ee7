// Target: the instruction sets kernels are compiled for, and which of them this
// CPU has. A table per op lists its implementations, fastest first, `ref` last.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace shoal::kernels {

enum class Target : std::uint8_t {
  kAvx512,   // Skylake-X and later: F, BW, CD, DQ, VL.
  kAvx2,     // AVX2 with FMA, F16C and BMI2: x86 since 2013 (Intel) or 2015 (AMD).
  kI8mm,     // NEON with 8-bit matrix multiplication: phones since about 2021.
  kDotprod,  // NEON with 8-bit dot products: phones since about 2018.
  kNeon,     // Every 64-bit ARM.
  kRef,      // Plain C++: the definition the others are tested against.
};

std::string_view TargetName(Target target);
std::optional<Target> ParseTarget(std::string_view name);
std::ostream& operator<<(std::ostream& out, Target target);

// What this CPU has, fastest first; ends with kRef.
std::span<const Target> SupportedTargets();
// The same as names, for people and reports.
std::vector<std::string> SupportedTargetNames();
// What kernels use unless told otherwise: the first of them.
Target BestTarget();

// While one lives, BestTarget() is another, in all threads: for tests of code that does not pass a
// target on. Weights packed before are for the target of that time. Not to be made or destroyed
// while kernels run. REQUIRES: the CPU has `target`.
class ScopedBestTarget {
 public:
  explicit ScopedBestTarget(Target target);
  ~ScopedBestTarget();
  ScopedBestTarget(const ScopedBestTarget&) = delete;
  ScopedBestTarget& operator=(const ScopedBestTarget&) = delete;

 private:
  Target before_;
};

// One row of an op's table. `Function` is a plain function type.
template <class Function>
struct Implementation {
  Target target;
  Function* run;
};

// The fastest row that a CPU of `target` can run: NEON's for kI8mm if the op has no
// better one. REQUIRES: the table ends with kRef, and the CPU has `target`.
template <class Function>
Function* Choose(std::span<const Implementation<Function>> table, Target target) {
  for (const Implementation<Function>& row : table) {
    if (row.target >= target) return row.run;
  }
  SHOAL_CHECK(false);
  return nullptr;
}

}  // namespace shoal::kernels
