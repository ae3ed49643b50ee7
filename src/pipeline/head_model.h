// HeadModel: what the head computes itself: rows from tokens, and tokens from rows. Raw prompts and
// logits never leave it.
//
// Computes; belongs to one thread at a time, that of an Executor's jobs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "llm/model_head.h"
#include "llm/sampler.h"

namespace shoal::pipeline {

// What is to be drawn after the rows of one window.
struct DrawTask {
  std::shared_ptr<llm::Sampler> sampler;
  std::vector<std::int32_t> history;  // Up to the first of the rows.
  std::vector<std::int32_t> tokens;   // Of the rows after the first, which were guessed.
};

class HeadModel {
 public:
  // `parallel` outlives it.
  HeadModel(llm::ModelHead head, Parallel& parallel)
      : head_(std::move(head)), parallel_(parallel) {}

  std::size_t dim() const { return head_.dim(); }
  std::size_t vocab() const { return head_.vocab(); }
  Parallel& parallel() const { return parallel_; }

  std::vector<std::uint16_t> Embed(std::span<const std::int32_t> tokens);

  // For each task, the tokens drawn after its rows, which follow each other in `rows`: one for
  // each, until one is not the guess that follows it. Nothing: the logits are no numbers.
  std::vector<std::vector<llm::SampledToken>> Draw(std::span<const std::uint16_t> rows,
                                                   std::span<DrawTask> tasks);

 private:
  llm::ModelHead head_;
  Parallel& parallel_;
  std::vector<float> logits_;
};

}  // namespace shoal::pipeline
