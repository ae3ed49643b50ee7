// Pipeline: a model cut into stages, each with a cache of its own, run one after the other
// as devices would.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "llm/kv_cache.h"
#include "llm/model_config.h"
#include "llm/model_head.h"
#include "llm/model_weights.h"
#include "llm/stage.h"

namespace shoal::llm {

class Pipeline {
 public:
  Pipeline(const ModelWeights& model, const ModelConfig& config,
           const std::vector<std::int64_t>& cuts, Parallel& parallel,
           kernels::KvType kv = kernels::KvType::kF16)
      : parallel_(parallel), config_(config) {
    head_.emplace(*ModelHead::Load(model, config_, parallel));
    std::int64_t begin = 0;
    for (const std::int64_t end : cuts) {
      stages_.push_back(*Stage::Load(model, config_, begin, end, parallel, kv));
      caches_.push_back(std::make_unique<KvCache>(stages_.back().kv_shape(), 64));
      begin = end;
    }
  }

  struct Sequence {
    std::vector<KvSequence> parts;
    std::size_t length = 0;
  };

  Sequence Begin() {
    Sequence sequence;
    for (const auto& cache : caches_) sequence.parts.emplace_back(*cache);
    return sequence;
  }

  // The logits after each of the tokens of all sequences, one after the other.
  std::vector<float> Run(std::span<Sequence* const> sequences,
                         std::span<const std::vector<std::int32_t>> tokens) {
    std::vector<std::int32_t> all;
    for (const auto& list : tokens) all.insert(all.end(), list.begin(), list.end());
    std::vector<std::uint16_t> residual(all.size() * head_->dim());
    head_->Embed(all, residual);
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      std::vector<StageRow> rows;
      for (std::size_t i = 0; i < sequences.size(); ++i) {
        KvSequence& part = sequences[i]->parts[s];
        const std::size_t begin = part.length();
        EXPECT_TRUE(part.Grow(begin + tokens[i].size()).ok());
        for (std::size_t p = begin; p < part.length(); ++p) rows.push_back({&part, p});
      }
      stages_[s].Forward(residual, rows, parallel_);
    }
    std::vector<float> logits(all.size() * head_->vocab());
    head_->Logits(residual, logits, parallel_);
    return logits;
  }

  const ModelConfig& config() const { return config_; }

 private:
  Parallel& parallel_;
  ModelConfig config_;
  std::optional<ModelHead> head_;
  std::vector<Stage> stages_;
  std::vector<std::unique_ptr<KvCache>> caches_;
};

// The logits after each token of one sequence, fed `chunk` at a time.
inline std::vector<float> InChunks(Pipeline& pipeline, const std::vector<std::int32_t>& tokens,
                                   std::size_t chunk) {
  Pipeline::Sequence sequence = pipeline.Begin();
  Pipeline::Sequence* const one[] = {&sequence};
  std::vector<float> logits;
  for (std::size_t at = 0; at < tokens.size(); at += chunk) {
    const std::size_t end = std::min(tokens.size(), at + chunk);
    const std::vector<std::int32_t> part(tokens.begin() + static_cast<std::ptrdiff_t>(at),
                                         tokens.begin() + static_cast<std::ptrdiff_t>(end));
    const std::vector<float> some = pipeline.Run(one, {&part, 1});
    logits.insert(logits.end(), some.begin(), some.end());
  }
  return logits;
}

}  // namespace shoal::llm
