#include "llm/rope.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/parallel.h"
#include "kernels/math.h"
#include "llm/scalar_math_internal.h"

namespace shoal::llm {
namespace {

using internal::Log;
using internal::Pow;

// YaRN: the pair that turns `turns` times within the context of the training.
float PairOf(const RopeConfig& config, float turns) {
  constexpr float kTwoPi = 6.28318530717958647692F;
  const auto context = static_cast<float>(config.original_context);
  return static_cast<float>(config.dims) * Log(context / (turns * kTwoPi)) /
         (2.0F * Log(config.base));
}

// How much of pair i's frequency is left as it is: 1 for fast pairs, 0 for slow ones.
float Untouched(const RopeConfig& config, std::size_t i) {
  const float last = static_cast<float>(config.dims) - 1.0F;
  const float low = std::max(0.0F, std::floor(PairOf(config, config.beta_fast)));
  const float high = std::min(last, std::ceil(PairOf(config, config.beta_slow)));
  const float ramp = (static_cast<float>(i) - low) / std::max(0.001F, high - low);
  return 1.0F - std::clamp(ramp, 0.0F, 1.0F);
}

}  // namespace

Rope::Rope(const RopeConfig& config) : kind_(config.pairs) {
  const auto pairs = static_cast<std::size_t>(config.dims / 2);
  for (std::size_t i = 0; i < pairs; ++i) {
    const float exponent = -2.0F * static_cast<float>(i) / static_cast<float>(config.dims);
    float frequency = Pow(config.base, exponent);
    if (!config.frequency_factors.empty()) frequency /= config.frequency_factors[i];
    if (config.scaling == RopeScaling::kLinear) frequency /= config.factor;
    if (config.scaling == RopeScaling::kYarn) {
      const float untouched = Untouched(config, i);
      frequency = frequency / config.factor * (1.0F - untouched) + frequency * untouched;
    }
    frequencies_.push_back(frequency);
  }
  if (config.scaling == RopeScaling::kYarn) {
    magnitude_ = config.attention_factor * (1.0F + 0.1F * Log(config.factor));
  }
}

void Rope::FillTable(std::size_t position, std::span<float> table) const {
  SHOAL_CHECK_EQ(table.size(), 2 * pairs());
  Serial serial;
  const std::span<float> cosines = table.first(pairs());
  const std::span<float> sines = table.last(pairs());
  for (std::size_t i = 0; i < pairs(); ++i) {
    sines[i] = static_cast<float>(position) * frequencies_[i];
  }
  kernels::Cos(sines, cosines, serial);
  kernels::Sin(sines, sines, serial);
  if (magnitude_ == 1.0F) return;
  for (float& value : table) value *= magnitude_;
}

void Rope::Turn(std::span<const float> table, std::span<float> head) const {
  const std::size_t n = pairs();
  for (std::size_t i = 0; i < n; ++i) {
    const bool halves = kind_ == RopePairs::kHalves;
    float& x = head[halves ? i : 2 * i];
    float& y = head[halves ? i + n : 2 * i + 1];
    const float cosine = table[i];
    const float sine = table[n + i];
    const float turned = std::fma(x, cosine, -(y * sine));
    y = std::fma(y, cosine, x * sine);
    x = turned;
  }
}

}  // namespace shoal::llm
