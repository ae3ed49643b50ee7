#include "llm/engine.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "llm/draft.h"

namespace shoal::llm {
Result<std::unique_ptr<Engine>> Engine::Load(const ModelWeights& model, const ModelConfig& config,
                                             const EngineOptions& options, Parallel& parallel) {
  SHOAL_CHECK_GT(options.chunk, std::size_t{0});
  std::unique_ptr<Engine> engine(new Engine(options, parallel));
  engine->name_ = model.name();
  engine->config_ = config;
  SHOAL_ASSIGN_OR_RETURN(engine->head_, ModelHead::Load(model, config, parallel));
  SHOAL_ASSIGN_OR_RETURN(engine->stage_,
                         Stage::Load(model, config, 0, config.layers, parallel, options.kv));
  engine->context_ =
      options.context != 0 ? options.context : static_cast<std::size_t>(config.context);
  engine->cache_ = std::make_unique<KvCache>(
      engine->stage_.kv_shape(), (engine->context_ + kPagePositions - 1) / kPagePositions);
  return engine;
}

Result<std::span<const float>> Engine::Feed(KvSequence& sequence,
                                            std::span<const std::int32_t> tokens,
                                            std::size_t wanted) {
  SHOAL_CHECK_LE(wanted, tokens.size());
  const std::size_t begin = sequence.length();
  if (begin + tokens.size() > context_) {
    return Status(Code::kResourceExhausted,
                  "the context of " + std::to_string(context_) + " tokens is full");
  }
  SHOAL_RETURN_IF_ERROR(sequence.Grow(begin + tokens.size()));
  logits_.resize(wanted * vocab());
  std::vector<StageRow> rows;
  for (std::size_t at = 0; at < tokens.size();) {
    const std::size_t count = std::min(chunk_, tokens.size() - at);
    residual_.resize(count * head_.dim());
    head_.Embed(tokens.subspan(at, count), residual_);
    rows.clear();
    for (std::size_t i = 0; i < count; ++i) rows.push_back({&sequence, begin + at + i});
    stage_.Forward(residual_, rows, parallel_);
    at += count;
    // Of this chunk, the rows from here on have logits that are wanted.
    const std::size_t first = std::max(at - count, tokens.size() - wanted);
    if (first >= at) continue;
    head_.Logits(std::span<const std::uint16_t>(residual_).last((at - first) * head_.dim()),
                 std::span<float>(logits_).subspan((first - (tokens.size() - wanted)) * vocab(),
                                                   (at - first) * vocab()),
                 parallel_);
  }
  if (!AllFinite(logits_)) {
    sequence.Shrink(begin);
    return Status(Code::kCorruption,
                  name_ + ": the model computes infinities or NaN: its weights are damaged");
  }
  return std::span<const float>(logits_);
}

void Generation::Append(std::span<const std::int32_t> tokens) {
  // Tokens that were drawn ahead would have come in their place.
  ready_.clear();
  if (sequence_.length() > history_.size()) sequence_.Shrink(history_.size());
  history_.insert(history_.end(), tokens.begin(), tokens.end());
}

void Generation::SetHistory(std::vector<std::int32_t> tokens) {
  ready_.clear();
  const auto common = static_cast<std::size_t>(
      std::mismatch(history_.begin(), history_.end(), tokens.begin(), tokens.end()).first -
      history_.begin());
  // The logits after the last token are wanted: it is fed in any case.
  const std::size_t kept = std::min(common, tokens.empty() ? 0 : tokens.size() - 1);
  sequence_.Shrink(std::min(sequence_.length(), kept));
  history_ = std::move(tokens);
}

Result<SampledToken> Generation::Next() {
  SHOAL_CHECK(!history_.empty());
  if (ready_.empty()) {
    std::vector<std::int32_t> tokens(
        history_.begin() + static_cast<std::ptrdiff_t>(sequence_.length()), history_.end());
    const std::size_t room = engine_.context() - std::min(engine_.context(), history_.size());
    const std::vector<std::int32_t> guess = GuessNext(history_, std::min(guesses_, room));
    tokens.insert(tokens.end(), guess.begin(), guess.end());
    SHOAL_ASSIGN_OR_RETURN(const std::span<const float> logits,
                           engine_.Feed(sequence_, tokens, guess.size() + 1));
    // A guess is right if it is what is drawn in its place; the first wrong one ends them.
    std::vector<std::int32_t> so_far = history_;
    const std::size_t vocab = engine_.vocab();
    for (std::size_t i = 0; i <= guess.size(); ++i) {
      ready_.push_back(sampler_.Sample(logits.subspan(i * vocab, vocab), so_far));
      so_far.push_back(ready_.back().token);
      if (i == guess.size() || ready_.back().token != guess[i]) break;
    }
    guessed_ += guess.size();
    guessed_right_ += ready_.size() - 1;
    sequence_.Shrink(history_.size() + ready_.size() - 1);
    std::reverse(ready_.begin(), ready_.end());
  }
  SampledToken next = std::move(ready_.back());
  ready_.pop_back();
  history_.push_back(next.token);
  return next;
}

}  // namespace shoal::llm
