// Engine: a whole model on one device, a pipeline of one stage; Generation: one answer. The tokens
// of a generation depend on the model, the prompt and the options alone: not on chunks, threads or
// whether guesses (draft.h) are tried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "llm/kv_cache.h"
#include "llm/model_config.h"
#include "llm/model_head.h"
#include "llm/model_weights.h"
#include "llm/sampler.h"
#include "llm/stage.h"

namespace shoal::llm {

struct EngineOptions {
  std::size_t context = 0;  // Positions of all sequences together; 0: the model's.
  std::size_t chunk = 256;  // Tokens of a prompt worked on at once.
  kernels::KvType kv = kernels::KvType::kF16;
};

class Engine {
 public:
  // `model` and `parallel` must outlive the engine. REQUIRES: `config` is the model's.
  static Result<std::unique_ptr<Engine>> Load(const ModelWeights& model, const ModelConfig& config,
                                              const EngineOptions& options, Parallel& parallel);

  const ModelConfig& config() const { return config_; }
  std::size_t vocab() const { return head_.vocab(); }
  std::size_t context() const { return context_; }
  KvSequence NewSequence() { return KvSequence(*cache_); }

  // Adds tokens to a sequence and gives the logits after each of the last `wanted` of them:
  // [wanted, vocab()], good until the next call. kResourceExhausted: the cache is full.
  // kCorruption: a logit is infinite or no number, so that nothing that follows would mean
  // anything. After an error the sequence is as it was. REQUIRES: wanted <= tokens.size().
  Result<std::span<const float>> Feed(KvSequence& sequence, std::span<const std::int32_t> tokens,
                                      std::size_t wanted);

 private:
  Engine(const EngineOptions& options, Parallel& parallel)
      : chunk_(options.chunk), parallel_(parallel) {}

  std::size_t chunk_;
  std::size_t context_ = 0;
  Parallel& parallel_;
  std::string name_;  // The model's, for messages.
  ModelConfig config_;
  ModelHead head_;
  Stage stage_;
  std::unique_ptr<KvCache> cache_;
  std::vector<std::uint16_t> residual_;
  std::vector<float> logits_;
};

class Generation {
 public:
  // `guesses`: how many tokens to try at once beyond the next; 0: none. `engine` must outlive it.
  Generation(Engine& engine, SamplingOptions options, std::size_t guesses)
      : engine_(engine),
        sampler_(std::move(options)),
        guesses_(guesses),
        sequence_(engine.NewSequence()) {}

  // Adds tokens that are given, not drawn: a prompt, or the next turn of a conversation.
  void Append(std::span<const std::int32_t> tokens);

  // Makes `tokens` the history. What it begins with as the old one did is not computed again.
  void SetHistory(std::vector<std::int32_t> tokens);

  // The next token, which becomes a part of the history. Errors are those of Engine::Feed.
  // REQUIRES: something was appended.
  Result<SampledToken> Next();

  const std::vector<std::int32_t>& history() const { return history_; }
  std::size_t guessed() const { return guessed_; }
  std::size_t guessed_right() const { return guessed_right_; }

 private:
  Engine& engine_;
  Sampler sampler_;
  std::size_t guesses_;
  KvSequence sequence_;  // Of history_, but for the tokens that were not fed yet.
  std::vector<std::int32_t> history_;
  std::vector<SampledToken> ready_;  // Drawn already, the next one last.
  std::size_t guessed_ = 0;
  std::size_t guessed_right_ = 0;
};

}  // namespace shoal::llm
