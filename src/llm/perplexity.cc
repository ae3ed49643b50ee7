#include "llm/perplexity.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace shoal::llm {
namespace {

// Tokens whose logits are kept at the same time: a large vocabulary's take half a megabyte each.
constexpr std::size_t kAtOnce = 64;

// -log of the probability that `logits` give to a token. For a report, not for the arithmetic.
double Surprise(std::span<const float> logits, std::int32_t token) {
  const double max = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - max);
  return std::log(sum) + max - static_cast<double>(logits[static_cast<std::size_t>(token)]);
}

struct Sums {
  double surprise = 0;
  double squares = 0;
  std::size_t count = 0;

  void Add(double value) {
    surprise += value;
    squares += value * value;
    ++count;
  }
  PerplexityResult Result(std::size_t windows) const {
    const auto n = static_cast<double>(count);
    const double mean = surprise / n;
    const double variance = std::max(0.0, squares / n - mean * mean);
    PerplexityResult result;
    result.perplexity = std::exp(mean);
    result.error = count > 1 ? result.perplexity * std::sqrt(variance / (n - 1)) : 0;
    result.windows = windows;
    result.predicted = count;
    return result;
  }
};

}  // namespace

Result<PerplexityResult> MeasurePerplexity(
    Engine& engine, std::span<const std::int32_t> tokens, std::optional<std::int32_t> begin,
    std::size_t window, std::size_t windows_max,
    const std::function<void(const PerplexityResult&)>& progress) {
  KvSequence sequence = engine.NewSequence();
  const Predict predict = [&](std::span<const std::int32_t> part, bool first, std::size_t wanted) {
    if (first) sequence.Shrink(0);
    return engine.Feed(sequence, part, wanted);
  };
  return MeasurePerplexity(predict, tokens, begin, window, windows_max, progress);
}

Result<PerplexityResult> MeasurePerplexity(
    const Predict& predict, std::span<const std::int32_t> tokens, std::optional<std::int32_t> begin,
    std::size_t window, std::size_t windows_max,
    const std::function<void(const PerplexityResult&)>& progress) {
  const std::size_t windows = std::min(windows_max, tokens.size() / window);
  if (windows == 0) {
    return Status(Code::kInvalidArgument, "the text has " + std::to_string(tokens.size()) +
                                              " tokens, fewer than a window of " +
                                              std::to_string(window));
  }
  Sums sums;
  for (std::size_t w = 0; w < windows; ++w) {
    std::vector<std::int32_t> part(tokens.begin() + static_cast<std::ptrdiff_t>(w * window),
                                   tokens.begin() + static_cast<std::ptrdiff_t>((w + 1) * window));
    if (begin) part[0] = *begin;
    const std::size_t half = window / 2;
    const std::span<const std::int32_t> all = part;
    SHOAL_RETURN_IF_ERROR(predict(all.first(half), true, 0).status());
    for (std::size_t at = half; at < window; at += kAtOnce) {
      const std::size_t count = std::min(kAtOnce, window - at);
      SHOAL_ASSIGN_OR_RETURN(const std::span<const float> logits,
                             predict(all.subspan(at, count), false, count));
      const std::size_t vocab = logits.size() / count;
      for (std::size_t i = at; i < at + count && i + 1 < window; ++i) {
        sums.Add(Surprise(logits.subspan((i - at) * vocab, vocab), part[i + 1]));
      }
    }
    if (progress) progress(sums.Result(w + 1));
  }
  return sums.Result(windows);
}

}  // namespace shoal::llm
