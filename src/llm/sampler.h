// Sampler: which token follows, given logits. A pure function of the logits, the tokens so far, the
// options and the position: two runs, or a run and its continuation on another phone, agree. The
// random number is a function of (seed, position) alone, so a token that was guessed is right if
// and only if it is the token drawn here.
//
// In this order: logit bias, penalties, top-k, top-p, min-p, temperature, draw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"

namespace shoal::llm {

struct SamplingOptions {
  float temperature = 0.8F;  // 0: always the most likely token.
  std::size_t top_k = 40;    // Keep so many; 0: all.
  float top_p = 0.95F;       // Keep the most likely ones that together have this; 1: all.
  float min_p = 0.05F;       // Keep those at least this times as likely as the first; 0: all.
  // Of tokens among the last `penalty_window`: positive logits are divided by `repetition`,
  // negative ones multiplied; then `presence`, and `frequency` for each time, are taken off.
  std::size_t penalty_window = 64;
  float repetition_penalty = 1.0F;
  float presence_penalty = 0.0F;
  float frequency_penalty = 0.0F;
  std::vector<std::pair<std::int32_t, float>> logit_bias = {};  // Added; token and bias.
  std::uint64_t seed = 0;
  std::size_t top_logprobs = 0;  // How many alternatives to report.
};

// kInvalidArgument: says which option is out of its range.
Status CheckSamplingOptions(const SamplingOptions& options, std::size_t vocab);

struct TokenLogprob {
  std::int32_t token;
  float logprob;  // By the model's own logits, before anything above.
};

struct SampledToken {
  std::int32_t token = 0;
  float logprob = 0;
  std::vector<TokenLogprob> top;  // The most likely first.
};

// Whether all logits are numbers: those of damaged weights need not be.
bool AllFinite(std::span<const float> logits);

class Sampler {
 public:
  // REQUIRES: CheckSamplingOptions says they are good.
  explicit Sampler(SamplingOptions options) : options_(std::move(options)) {}

  const SamplingOptions& options() const { return options_; }

  // `history`: all tokens so far; the new one's position is history.size().
  SampledToken Sample(std::span<const float> logits, std::span<const std::int32_t> history);

 private:
  struct Candidate {
    std::int32_t token;
    float logit;
  };

  void AdjustLogits(std::span<const std::int32_t> history);
  std::int32_t Draw(std::size_t position);
  void KeepLikely();

  SamplingOptions options_;
  std::vector<float> adjusted_;
  std::vector<Candidate> candidates_;
  std::vector<float> probabilities_;
};

}  // namespace shoal::llm
