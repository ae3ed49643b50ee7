// ModelHead: what surrounds the layers: tokens become rows of the residual stream, and rows logits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "llm/matrix.h"
#include "llm/model_config.h"
#include "llm/model_weights.h"

namespace shoal::llm {

class ModelHead {
 public:
  // `model` must outlive the head.
  static Result<ModelHead> Load(const ModelWeights& model, const ModelConfig& config,
                                Parallel& parallel);

  std::size_t dim() const { return dim_; }
  std::size_t vocab() const { return output_.rows(); }

  // F16 numbers [tokens.size(), dim]. REQUIRES: every token is in [0, vocab()).
  void Embed(std::span<const std::int32_t> tokens, std::span<std::uint16_t> residual);
  // Of rows of the residual: logits [rows, vocab()].
  void Logits(std::span<const std::uint16_t> residual, std::span<float> logits, Parallel& parallel);

 private:
  const WeightTensor* embedding_ = nullptr;
  std::size_t dim_ = 0;
  float epsilon_ = 0;
  std::vector<float> norm_;
  Matrix output_;
  std::vector<float> row_;
  Activations activations_;
};

}  // namespace shoal::llm
