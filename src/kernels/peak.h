// Loops that show what a core can do at best: multiply-adds out of registers, and reading
// memory. They are the limits that `shoal doctor` and the benchmarks put beside what
// kernels reach. Callers do the timing, and run one loop per core to load all of them.
// Thread-compatible: loops share nothing.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/target.h"

namespace shoal::kernels {

struct FmaLoopResult {
  double operations;  // Floating-point operations done; a multiply-add counts two.
  double checksum;    // Depends on every result, so that no compiler skips one.
};

// Runs `iterations` rounds of independent fused multiply-adds. REQUIRES: this CPU has `target`.
FmaLoopResult RunFmaLoop(std::size_t iterations, Target target = BestTarget());

// The same with what multiplies 8-bit integers and adds the products in 32 bits; operations are
// those of integers. Where we know no such instructions (all but AVX2): no operations.
FmaLoopResult RunInt8Loop(std::size_t iterations, Target target = BestTarget());

// Reads every float once and returns their sum, in an order of the target's choice.
// REQUIRES: this CPU has `target`.
double RunReadLoop(std::span<const float> data, Target target = BestTarget());

}  // namespace shoal::kernels
