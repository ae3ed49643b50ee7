// Simple operations on arrays of floats, element by element: the same bits on every target.
//
// For all of them: arrays have the same length; the output is one of the inputs or overlaps none.
// Each step named below is one IEEE operation, rounded to nearest; a NaN result is 0x7fc00000.
// The work is cut over `parallel`; `target` is for tests.
#pragma once

#include <span>

#include "base/parallel.h"
#include "kernels/target.h"

namespace shoal::kernels {

// z = x + y
void Add(std::span<const float> x, std::span<const float> y, std::span<float> z, Parallel& parallel,
         Target target = BestTarget());

// z = x * y
void Mul(std::span<const float> x, std::span<const float> y, std::span<float> z, Parallel& parallel,
         Target target = BestTarget());

// y = a * x
void Scale(float a, std::span<const float> x, std::span<float> y, Parallel& parallel,
           Target target = BestTarget());

// y = a * x + y, fused.
void Axpy(float a, std::span<const float> x, std::span<float> y, Parallel& parallel,
          Target target = BestTarget());

// y = low where x < low, high where x > high, else x; low and high may be infinite.
// REQUIRES: low <= high.
void Clamp(float low, float high, std::span<const float> x, std::span<float> y, Parallel& parallel,
           Target target = BestTarget());

// y = y + r, where r is x, cut off at ± limit, rounded to the nearest multiple of `quantum`, ties
// to even. REQUIRES: both are powers of two, quantum <= limit <= 2^22 quanta.
void AddRounded(float limit, float quantum, std::span<const float> x, std::span<float> y,
                Parallel& parallel, Target target = BestTarget());

// y = x where x > 0, NaN for NaN, else +0 (also for -0).
void Relu(std::span<const float> x, std::span<float> y, Parallel& parallel,
          Target target = BestTarget());

}  // namespace shoal::kernels
