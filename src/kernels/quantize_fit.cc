#include "kernels/quantize_fit.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/float16.h"

namespace shoal::kernels {
namespace {

constexpr float kLargestF16 = 65504.0F;

// Steps that are added to the obvious divisor: more cuts outliers off, fewer leaves room.
constexpr std::array<float, 15> kDivisorSteps = {0.0F,  -1.0F, -0.75F, -0.5F, -0.25F,
                                                 0.25F, 0.5F,  0.75F,  1.0F,  1.25F,
                                                 1.5F,  1.75F, 2.0F,   2.5F,  3.0F};

float Inverse(float scale) {
  const float inverse = scale == 0.0F ? 0.0F : 1.0F / scale;
  return std::isfinite(inverse) ? inverse : 0.0F;  // Of a subnormal scale.
}

// What least squares need to know of weights x on steps q. With them the error of any scale and
// offset for these steps is known without another look at the weights.
struct Sums {
  double n = 0.0;
  double x = 0.0;
  double xx = 0.0;
  double q = 0.0;
  double qq = 0.0;
  double xq = 0.0;

  double Error(const Affine& affine) const {
    const auto s = static_cast<double>(affine.scale);
    const auto o = static_cast<double>(affine.offset);
    return xx - 2.0 * (s * xq + o * x) + s * s * qq + 2.0 * s * o * q + n * o * o;
  }
};

// With the steps to which `affine` rounds the weights.
Sums SumUp(std::span<const float> weights, const Affine& affine, int low, int high) {
  const float inverse = Inverse(affine.scale);
  Sums sums;
  sums.n = static_cast<double>(weights.size());
  for (const float weight : weights) {
    const double q = RoundWithin((weight - affine.offset) * inverse, low, high);
    const auto x = static_cast<double>(weight);
    sums.x += x;
    sums.xx += x * x;
    sums.q += q;
    sums.qq += q * q;
    sums.xq += x * q;
  }
  return sums;
}

// The best scale and offset for these steps; `otherwise` if all weights are on one.
Affine Refit(const Sums& sums, const Affine& otherwise, OffsetLimit limit) {
  const double determinant = sums.n * sums.qq - sums.q * sums.q;
  if (determinant <= 0.0) return otherwise;
  const double offset = (sums.qq * sums.x - sums.q * sums.xq) / determinant;
  if (offset > 0.0 && limit == OffsetLimit::kNotPositive) {
    return {static_cast<float>(sums.xq / sums.qq), 0.0F};
  }
  return {static_cast<float>((sums.n * sums.xq - sums.q * sums.x) / determinant),
          static_cast<float>(offset)};
}

}  // namespace

float SnapToF16(float x) {
  return FloatFromF16(F16FromFloat(std::clamp(x, -kLargestF16, kLargestF16)));
}

int RoundWithin(float x, int low, int high) {
  const float inside = std::clamp(x, static_cast<float>(low), static_cast<float>(high));
  return static_cast<int>(inside + (inside < 0.0F ? -0.5F : 0.5F));
}

double SymmetricError(std::span<const float> x, float scale, int half) {
  const float inverse = Inverse(scale);
  double error = 0.0;
  for (const float value : x) {
    const int q = RoundWithin(value * inverse, -half, half - 1);
    const double e = static_cast<double>(value) - static_cast<double>(scale) * q;
    error += e * e;
  }
  return error;
}

float FitSymmetric(std::span<const float> x, int half, float (*snap)(float)) {
  float extreme = 0.0F;
  for (const float value : x) {
    if (std::abs(value) > std::abs(extreme)) extreme = value;
  }
  float best = 0.0F;
  double best_error = SymmetricError(x, best, half);
  for (const float step : kDivisorSteps) {
    // The extreme becomes -half, the side that has one step more.
    const float start = -extreme / (static_cast<float>(half) + step);
    const Sums sums = SumUp(x, {start, 0.0F}, -half, half - 1);
    if (sums.qq == 0.0) continue;
    const float scale = snap(static_cast<float>(sums.xq / sums.qq));
    const double error = sums.Error({scale, 0.0F});
    if (error < best_error) {
      best = scale;
      best_error = error;
    }
  }
  return best;
}

double AffineError(std::span<const float> x, const Affine& affine, int steps) {
  const float inverse = Inverse(affine.scale);
  double error = 0.0;
  for (const float value : x) {
    const int q = RoundWithin((value - affine.offset) * inverse, 0, steps);
    const double e = static_cast<double>(value) - static_cast<double>(affine.scale) * q -
                     static_cast<double>(affine.offset);
    error += e * e;
  }
  return error;
}

Affine FitAffine(std::span<const float> x, int steps, OffsetLimit limit, float (*snap)(float)) {
  const auto [lowest, highest] = std::minmax_element(x.begin(), x.end());
  const float start = limit == OffsetLimit::kNotPositive ? std::min(*lowest, 0.0F) : *lowest;
  Affine best = {0.0F, snap(start)};
  double best_error = AffineError(x, best, steps);
  // Half of each: two numbers of opposite sign can be further apart than a float.
  const float half_range = 0.5F * *highest - 0.5F * start;
  for (const float step : kDivisorSteps) {
    const Affine obvious = {half_range / (0.5F * (static_cast<float>(steps) + step)), start};
    const Sums sums = SumUp(x, obvious, 0, steps);
    const Affine fitted = Refit(sums, obvious, limit);
    const Affine stored = {snap(fitted.scale), snap(fitted.offset)};
    const double error = sums.Error(stored);
    if (stored.scale >= 0.0F && error < best_error) {
      best = stored;
      best_error = error;
    }
  }
  return best;
}

}  // namespace shoal::kernels
