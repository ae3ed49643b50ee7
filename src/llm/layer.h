// Layer: the weights of one transformer block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "llm/matrix.h"
#include "llm/model_config.h"
#include "llm/model_weights.h"

namespace shoal::llm {

// down(silu(gate x) * up x)
struct FeedForward {
  Matrix gate;
  Matrix up;
  Matrix down;
};

struct Layer {
  std::vector<float> attention_norm;
  Matrix q;
  Matrix k;
  Matrix v;
  Matrix output;
  std::vector<float> q_bias;  // Empty if the architecture has none, as the following four.
  std::vector<float> k_bias;
  std::vector<float> v_bias;
  std::vector<float> q_norm;
  std::vector<float> k_norm;
  std::vector<float> ffn_norm;
  Matrix router;                     // Of a mixture of experts, …
  std::vector<FeedForward> experts;  // … which are these; else there is one.
};

// The tensor's numbers as floats: for norms and biases. kNotFound: there is none.
Result<std::vector<float>> LoadVector(const ModelWeights& model, const std::string& name);
// kNotFound: there is none; else as Matrix::Make.
Result<Matrix> LoadMatrix(const ModelWeights& model, const std::string& name, Parallel& parallel);

// REQUIRES: `config` is that of `model`, which outlives the layer as its files do.
Result<Layer> LoadLayer(const ModelWeights& model, const ModelConfig& config, std::int64_t layer,
                        Parallel& parallel);

}  // namespace shoal::llm
