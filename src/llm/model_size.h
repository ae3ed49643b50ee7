// How large a model is, and how many phones it takes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "llm/model_config.h"
#include "llm/model_weights.h"
#include "tensor/dtype.h"

namespace shoal::llm {

struct TypeSize {
  std::uint64_t tensors = 0;
  std::uint64_t parameters = 0;
  std::uint64_t bytes = 0;
};

struct ModelSize {
  std::uint64_t parameters = 0;
  std::uint64_t bytes = 0;
  std::map<DType, TypeSize> by_type;
  std::vector<std::uint64_t> layer_bytes;  // Of each layer's tensors.
  std::uint64_t head_bytes = 0;            // Of the rest: embedding, output matrix, last norm.
};

// As the weights are in the file. REQUIRES: `config` is the model's.
ModelSize MeasureModel(const ModelWeights& model, const ModelConfig& config);

// What loading all of it takes of memory beside the mapped files: packed matrices, and floats that
// are not used as they are in the file. REQUIRES: `config` is the model's.
std::uint64_t LoadedBytes(const ModelWeights& model, const ModelConfig& config);

// What one row (a token) costs in one layer.
struct RowWork {
  double multiply_adds = 0;
  double share = 1;  // Of the layer's weights, those that it needs; of experts, not all.
};
RowWork MeasureRow(const ModelConfig& config);

struct PhoneNeeds {
  std::uint64_t memory = 0;  // Of one phone that weights and KV may take, in bytes.
  std::int64_t context = 0;  // Tokens of which a phone keeps keys and values.
};

// Phones of one kind that hold all layers, each a row of whole layers with their keys and values
// (F16). Embedding and output matrix stay with the head, which is another machine. Nothing: one
// layer alone is too large.
std::optional<std::uint64_t> CountPhones(const ModelSize& size, const ModelConfig& config,
                                         const PhoneNeeds& needs);

}  // namespace shoal::llm
