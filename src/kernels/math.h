// Elementary functions over arrays of floats, our own: the same bits on every target, compiler,
// thread count and split, which no libm promises. math-inl.h is the definition, operation by
// operation.
//
// For all of them: y[i] = f(x[i]). x and y have the same length and are the same array or do not
// overlap. Subnormals are kept; a NaN result is 0x7fc00000 whatever NaN came in. The work is cut
// over `parallel`; `target` is for tests. Errors below are the largest distance from the true
// value, in units in the last place (ulp) of the nearest float.
#pragma once

#include <span>

#include "base/parallel.h"
#include "kernels/target.h"

namespace shoal::kernels {

// 0.9 ulp. Overflows to infinity and underflows through the subnormals to 0, rounded once.
void Exp(std::span<const float> x, std::span<float> y, Parallel& parallel,
         Target target = BestTarget());

// Natural logarithm, 0.9 ulp. Log(±0) = -infinity, Log(x < 0) = NaN.
void Log(std::span<const float> x, std::span<float> y, Parallel& parallel,
         Target target = BestTarget());

// Radians, 0.501 ulp for |x| <= 2^40, NaN beyond. Sin(-0) = -0.
void Sin(std::span<const float> x, std::span<float> y, Parallel& parallel,
         Target target = BestTarget());
void Cos(std::span<const float> x, std::span<float> y, Parallel& parallel,
         Target target = BestTarget());

// 1.4 ulp. Tanh(-0) = -0.
void Tanh(std::span<const float> x, std::span<float> y, Parallel& parallel,
          Target target = BestTarget());

// 1 / (1 + exp(-x)), 1.5 ulp.
void Sigmoid(std::span<const float> x, std::span<float> y, Parallel& parallel,
             Target target = BestTarget());

// x / (1 + exp(-x)), 3.2 ulp for x >= -87, below that less than 2^-142 away. Silu(-infinity) = -0.
void Silu(std::span<const float> x, std::span<float> y, Parallel& parallel,
          Target target = BestTarget());

// z[i] = x[i] to the power y[i], 0.501 ulp, special cases as in IEEE 754 (pow(x, 0) = 1 and
// pow(1, y) = 1 even for NaN).
void Pow(std::span<const float> x, std::span<const float> y, std::span<float> z, Parallel& parallel,
         Target target = BestTarget());

}  // namespace shoal::kernels
