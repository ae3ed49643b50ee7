#include "llm/model_size.h"

#include "kernels/packed_weights.h"
#include "llm/model_tensors.h"

namespace shoal::llm {

ModelSize MeasureModel(const ModelWeights& model, const ModelConfig& config) {
  ModelSize size;
  size.layer_bytes.resize(static_cast<std::size_t>(config.layers));
  for (const auto& [name, tensor] : model.tensors()) {
    const auto parameters = static_cast<std::uint64_t>(tensor.shape.elements());
    const DTypeInfo& info = Info(tensor.dtype);
    const std::uint64_t bytes = parameters / info.block_elements * info.block_bytes;
    size.parameters += parameters;
    size.bytes += bytes;
    TypeSize& type = size.by_type[tensor.dtype];
    ++type.tensors;
    type.parameters += parameters;
    type.bytes += bytes;
    const auto layer = LayerOfTensor(name);
    const bool in_layer = layer && *layer >= 0 && *layer < config.layers;
    (in_layer ? size.layer_bytes[static_cast<std::size_t>(*layer)] : size.head_bytes) += bytes;
  }
  return size;
}

std::uint64_t LoadedBytes(const ModelWeights& model, const ModelConfig& config) {
  std::uint64_t sum = 0;
  for (const auto& [name, tensor] : model.tensors()) {
    const std::size_t rank = tensor.shape.rank();
    if (rank < 2) {
      sum += static_cast<std::uint64_t>(tensor.shape.elements()) * sizeof(float);
      continue;
    }
    // Rows of an embedding are read where they are.
    if (name == "token_embd.weight" && !config.tied_embeddings) continue;
    const auto rows = static_cast<std::size_t>(tensor.shape[rank - 2]);
    const auto k = static_cast<std::size_t>(tensor.shape[rank - 1]);
    const std::uint64_t experts = rank == 3 ? static_cast<std::uint64_t>(tensor.shape[0]) : 1;
    if (kernels::PackedWeights::Supports(tensor.dtype)) {
      const kernels::PackedForm form = kernels::PackedWeights::FormOf(tensor.dtype);
      sum += experts * kernels::PackedBytes(form, rows, k);
    } else if (tensor.dtype == DType::kBF16) {
      sum += experts * rows * k * sizeof(float);
    }
  }
  return sum;
}

RowWork MeasureRow(const ModelConfig& config) {
  const auto dim = static_cast<double>(config.dim);
  const double attention = 2 * dim * static_cast<double>(config.q_dim() + config.kv_dim());
  if (config.experts == 0) {
    return {.multiply_adds = attention + 3 * dim * static_cast<double>(config.ff_dim)};
  }
  const double expert = 3 * dim * static_cast<double>(config.expert_ff_dim);
  const double router = dim * static_cast<double>(config.experts);
  const double used = attention + router + expert * static_cast<double>(config.experts_used);
  const double all = attention + router + expert * static_cast<double>(config.experts);
  return {.multiply_adds = used, .share = used / all};
}

std::optional<std::uint64_t> CountPhones(const ModelSize& size, const ModelConfig& config,
                                         const PhoneNeeds& needs) {
  const auto kv_bytes =
      static_cast<std::uint64_t>(KvBytesPerToken(config) / config.layers * needs.context);
  std::uint64_t phones = 1;
  std::uint64_t used = 0;
  for (const std::uint64_t weights : size.layer_bytes) {
    const std::uint64_t layer = weights + kv_bytes;
    if (layer > needs.memory) return std::nullopt;
    if (layer > needs.memory - used) {
      ++phones;
      used = 0;
    }
    used += layer;
  }
  return phones;
}

}  // namespace shoal::llm
