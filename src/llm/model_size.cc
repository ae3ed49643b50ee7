#include "llm/model_size.h"

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
