// Which tensors a model has, by its configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "llm/model_config.h"
#include "llm/model_weights.h"
#include "tensor/shape.h"

namespace shoal::llm {

struct TensorSpec {
  std::string name;
  Shape shape;  // Outermost first: a matrix is [out, in].
};

// "blk.3.attn_q.weight" of (3, "attn_q.weight").
std::string LayerTensor(std::int64_t layer, std::string_view name);

// The 3 of "blk.3.attn_q.weight"; nothing for a tensor that belongs to no layer.
std::optional<std::int64_t> LayerOfTensor(std::string_view name);

// Every tensor that the model must have: embedding, layers from first to last, norm, output.
std::vector<TensorSpec> TensorsOf(const ModelConfig& config);

// Whether `model` has these tensors, with these shapes and of a type that holds numbers with
// fractions, and no others. kNotFound: one is missing. kCorruption: it is another.
Status CheckTensors(const ModelWeights& model, const ModelConfig& config);

}  // namespace shoal::llm
