// Whatever a layer file holds: a layer that a stage can compute with, or one line that says why
// not.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/parallel.h"
#include "llm/layer_file.h"
#include "llm/stage.h"
#include "tensor/aligned_buffer.h"

namespace {

using shoal::llm::Layer;
using shoal::llm::ModelConfig;

// Small, so that a file can be made of thin air.
ModelConfig SmallConfig(bool experts) {
  ModelConfig config;
  config.layers = 1;
  config.dim = config.head_dim = config.ff_dim = config.rope.dims = 32;
  config.heads = config.kv_heads = 1;
  config.vocab = 1;
  config.context = 8;
  config.rms_eps = 1e-5F;
  if (!experts) return config;
  config.experts = 2;
  config.experts_used = 1;
  config.expert_ff_dim = 32;
  config.qkv_bias = config.qk_norm = true;
  return config;
}

void Compute(Layer layer, const ModelConfig& config) {
  std::vector<std::shared_ptr<const Layer>> layers;
  layers.push_back(std::make_shared<const Layer>(std::move(layer)));
  auto stage = shoal::llm::Stage::Make(std::move(layers), config);
  SHOAL_CHECK(stage.ok());
  shoal::llm::KvCache cache(stage->kv_shape(), 1);
  shoal::llm::KvSequence sequence(cache);
  SHOAL_CHECK(sequence.Grow(2).ok());
  const shoal::llm::StageRow rows[] = {{&sequence, 0}, {&sequence, 1}};
  std::vector<std::uint16_t> residual(64, 0x3c00);
  shoal::Serial serial;
  stage->Forward(residual, rows, serial);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto file = shoal::AlignedBuffer::Make(size);
  SHOAL_CHECK(file.ok());
  if (size > 0) std::memcpy(file->data(), data, size);
  for (const bool experts : {false, true}) {
    const ModelConfig config = SmallConfig(experts);
    auto layer = shoal::llm::ReadLayer("f", file->bytes(), config);
    if (layer.ok()) {
      Compute(*std::move(layer), config);
    } else {
      SHOAL_CHECK(layer.status().message().starts_with("f: "));
    }
  }
  return 0;
}
