#include "llm/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "base/check.h"
#include "base/parallel.h"
#include "base/random.h"
#include "kernels/math.h"
#include "kernels/reduce.h"

namespace shoal::llm {
namespace {

Status OutOfRange(const std::string& option, const std::string& range) {
  return Status(Code::kInvalidArgument, option + " must be " + range);
}

float Log(float x) {
  Serial serial;
  float y = 0;
  kernels::Log({&x, 1}, {&y, 1}, serial);
  return y;
}

// The logarithm of the sum of the exponentials.
float LogSum(std::span<const float> logits, std::vector<float>& scratch) {
  Serial serial;
  const float max = kernels::Max(logits);
  scratch.resize(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) scratch[i] = logits[i] - max;
  kernels::Exp(scratch, scratch, serial);
  return max + Log(kernels::Sum(scratch));
}

std::vector<TokenLogprob> MostLikely(std::span<const float> logits, std::size_t count, float sum) {
  std::vector<TokenLogprob> all(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    all[i] = {static_cast<std::int32_t>(i), logits[i] - sum};
  }
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(count, all.size()));
  std::partial_sort(all.begin(), end, all.end(), [](const TokenLogprob& a, const TokenLogprob& b) {
    return a.logprob != b.logprob ? a.logprob > b.logprob : a.token < b.token;
  });
  all.erase(end, all.end());
  return all;
}

}  // namespace

// By their bits: a comparison that compilers turn into a few vector instructions.
bool AllFinite(std::span<const float> logits) {
  std::uint32_t most = 0;
  for (const float value : logits) {
    most = std::max(most, std::bit_cast<std::uint32_t>(value) & 0x7fffffffU);
  }
  return most < 0x7f800000U;
}

Status CheckSamplingOptions(const SamplingOptions& options, std::size_t vocab) {
  const auto in = [](float value, float low, float high) { return value >= low && value <= high; };
  if (!in(options.temperature, 0, 100)) return OutOfRange("temperature", "from 0 to 100");
  if (!in(options.top_p, 0, 1)) return OutOfRange("top_p", "from 0 to 1");
  if (!in(options.min_p, 0, 1)) return OutOfRange("min_p", "from 0 to 1");
  if (!in(options.repetition_penalty, 0.01F, 100)) {
    return OutOfRange("repetition_penalty", "from 0.01 to 100");
  }
  if (!in(options.presence_penalty, -100, 100)) {
    return OutOfRange("presence_penalty", "from -100 to 100");
  }
  if (!in(options.frequency_penalty, -100, 100)) {
    return OutOfRange("frequency_penalty", "from -100 to 100");
  }
  for (const auto& [token, bias] : options.logit_bias) {
    if (token < 0 || static_cast<std::size_t>(token) >= vocab) {
      return OutOfRange("logit_bias: token " + std::to_string(token),
                        "below the vocabulary's " + std::to_string(vocab));
    }
    if (!in(bias, -1000, 1000)) return OutOfRange("logit_bias", "from -1000 to 1000");
  }
  return {};
}

SampledToken Sampler::Sample(std::span<const float> logits, std::span<const std::int32_t> history) {
  SHOAL_CHECK(!logits.empty());
  SampledToken sampled;
  const float sum = LogSum(logits, probabilities_);
  adjusted_.assign(logits.begin(), logits.end());
  AdjustLogits(history);
  sampled.token = options_.temperature == 0 ? static_cast<std::int32_t>(kernels::ArgMax(adjusted_))
                                            : Draw(history.size());
  sampled.logprob = logits[static_cast<std::size_t>(sampled.token)] - sum;
  if (options_.top_logprobs > 0) sampled.top = MostLikely(logits, options_.top_logprobs, sum);
  return sampled;
}

void Sampler::AdjustLogits(std::span<const std::int32_t> history) {
  for (const auto& [token, bias] : options_.logit_bias) {
    adjusted_[static_cast<std::size_t>(token)] += bias;
  }
  if (options_.repetition_penalty == 1 && options_.presence_penalty == 0 &&
      options_.frequency_penalty == 0) {
    return;
  }
  const std::size_t window = std::min(options_.penalty_window, history.size());
  std::vector<std::int32_t> recent(history.end() - static_cast<std::ptrdiff_t>(window),
                                   history.end());
  std::sort(recent.begin(), recent.end());
  for (std::size_t i = 0; i < recent.size();) {
    const std::size_t begin = i;
    while (i < recent.size() && recent[i] == recent[begin]) ++i;
    float& logit = adjusted_[static_cast<std::size_t>(recent[begin])];
    logit = logit > 0 ? logit / options_.repetition_penalty : logit * options_.repetition_penalty;
    logit -= options_.presence_penalty;
    logit -= static_cast<float>(i - begin) * options_.frequency_penalty;
  }
}

std::int32_t Sampler::Draw(std::size_t position) {
  KeepLikely();
  Serial serial;
  probabilities_.resize(candidates_.size());
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    probabilities_[i] = (candidates_[i].logit - candidates_[0].logit) / options_.temperature;
  }
  kernels::Exp(probabilities_, probabilities_, serial);
  double sum = 0;
  for (const float p : probabilities_) sum += static_cast<double>(p);
  Random random(options_.seed, position);
  double left = random.Unit() * sum;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    left -= static_cast<double>(probabilities_[i]);
    if (left < 0) return candidates_[i].token;
  }
  return candidates_.back().token;
}

// Fills candidates_, the most likely first.
void Sampler::KeepLikely() {
  candidates_.resize(adjusted_.size());
  for (std::size_t i = 0; i < adjusted_.size(); ++i) {
    // NaN would break the order; nothing is less likely.
    const float logit = adjusted_[i] == adjusted_[i] ? adjusted_[i] : -INFINITY;
    candidates_[i] = {static_cast<std::int32_t>(i), logit};
  }
  const std::size_t kept =
      options_.top_k == 0 ? candidates_.size() : std::min(options_.top_k, candidates_.size());
  const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(kept);
  std::partial_sort(candidates_.begin(), end, candidates_.end(),
                    [](const Candidate& a, const Candidate& b) {
                      return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
                    });
  candidates_.resize(kept);
  Serial serial;
  probabilities_.resize(kept);
  for (std::size_t i = 0; i < kept; ++i) {
    probabilities_[i] = candidates_[i].logit - candidates_[0].logit;
  }
  kernels::Exp(probabilities_, probabilities_, serial);
  double sum = 0;
  for (const float p : probabilities_) sum += static_cast<double>(p);
  std::size_t count = 0;
  double together = 0;
  while (count < kept && (count == 0 || together < static_cast<double>(options_.top_p) * sum) &&
         probabilities_[count] >= options_.min_p) {
    together += static_cast<double>(probabilities_[count++]);
  }
  candidates_.resize(std::max<std::size_t>(1, count));
}

}  // namespace shoal::llm
