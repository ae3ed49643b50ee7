// Scales for a group of weights, with least squared error. quantize.h says how.
#pragma once

#include <cstdint>
#include <span>

namespace shoal::kernels {

// The F16 nearest to x that is finite, as a float.
float SnapToF16(float x);

// The nearest integer, within [low, high]. REQUIRES: x is not NaN.
int RoundWithin(float x, int low, int high);

// The squared error of x with steps of `scale` from -half to half-1.
double SymmetricError(std::span<const float> x, float scale, int half);
// The scale with the least such error. `snap` is what storing does to a scale.
float FitSymmetric(std::span<const float> x, int half, float (*snap)(float));

// Weights are scale * q + offset, q from 0 to `steps`.
struct Affine {
  float scale = 0.0F;
  float offset = 0.0F;
};
double AffineError(std::span<const float> x, const Affine& affine, int steps);
// The K types can only subtract an offset.
enum class OffsetLimit : std::uint8_t { kNone, kNotPositive };
Affine FitAffine(std::span<const float> x, int steps, OffsetLimit limit, float (*snap)(float));

inline float KeepAsIs(float x) { return x; }

}  // namespace shoal::kernels
