// Perplexity: how surprised a model is by a text. As llama.cpp counts it, so that figures compare:
// the text is cut into windows of `window` tokens, the first of each replaced by the beginning of
// sequence if the model has one; the second half of each window is predicted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "base/status.h"
#include "llm/engine.h"

namespace shoal::llm {

struct PerplexityResult {
  double perplexity = 0;
  double error = 0;  // One standard error.
  std::size_t windows = 0;
  std::size_t predicted = 0;  // Tokens.
};

// Adds tokens to what a model has seen (`first`: nothing is seen before them) and gives the logits
// after each of the last `wanted` of them, one after the other.
using Predict = std::function<Result<std::span<const float>>(std::span<const std::int32_t> tokens,
                                                             bool first, std::size_t wanted)>;

// `progress` is called after each window. kInvalidArgument: the text is too short for one.
Result<PerplexityResult> MeasurePerplexity(
    Engine& engine, std::span<const std::int32_t> tokens, std::optional<std::int32_t> begin,
    std::size_t window, std::size_t windows_max,
    const std::function<void(const PerplexityResult&)>& progress);
// The same of any model, ours or not.
Result<PerplexityResult> MeasurePerplexity(
    const Predict& predict, std::span<const std::int32_t> tokens, std::optional<std::int32_t> begin,
    std::size_t window, std::size_t windows_max,
    const std::function<void(const PerplexityResult&)>& progress);

}  // namespace shoal::llm
