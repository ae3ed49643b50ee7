// Small models made by tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "llm/gguf_model.h"
#include "llm/gguf_testing.h"
#include "llm/model_config.h"
#include "llm/model_tensors.h"

namespace shoal::llm {

// A configuration of each architecture, as small as it goes.
inline ModelConfig SmallConfig(Architecture architecture) {
  ModelConfig config;
  config.architecture = architecture;
  config.layers = 2;
  config.dim = 64;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 16;
  config.ff_dim = 96;
  config.vocab = 10;
  config.context = 128;
  config.rms_eps = 1e-5F;
  config.rope.dims = 16;
  return config;
}

// The keys of `config`, without tensors.
inline GgufWriter ConfigKeys(const ModelConfig& config) {
  GgufWriter writer;
  const std::string a(Name(config.architecture));
  const auto number = [&](std::string_view key, std::int64_t value) {
    writer.SetUnsigned(a + "." + std::string(key), static_cast<std::uint32_t>(value));
  };
  writer.SetString("general.architecture", a);
  number("block_count", config.layers);
  number("embedding_length", config.dim);
  number("feed_forward_length", config.ff_dim);
  number("context_length", config.context);
  number("attention.head_count", config.heads);
  number("attention.head_count_kv", config.kv_heads);
  if (config.head_dim * config.heads != config.dim) {
    number("attention.key_length", config.head_dim);
    number("attention.value_length", config.head_dim);
  }
  if (config.experts != 0) {
    number("expert_count", config.experts);
    number("expert_used_count", config.experts_used);
    number("expert_feed_forward_length", config.expert_ff_dim);
  }
  writer.SetFloat(a + ".attention.layer_norm_rms_epsilon", config.rms_eps);
  return writer;
}

inline void AddTensors(const ModelConfig& config, GgufWriter& writer) {
  for (const TensorSpec& spec : TensorsOf(config)) {
    writer.AddTensor(spec.name, DType::kF32, spec.shape);
  }
}

// The model in the bytes of one file, which must outlive it.
inline Result<GgufModel> ModelOf(std::string_view bytes) {
  auto file = GgufFile::Parse("m.gguf", AsBytes(bytes));
  if (!file.ok()) return std::move(file).status();
  std::vector<GgufFile> parts;
  parts.push_back(*std::move(file));
  return GgufModel::Make(std::move(parts));
}

}  // namespace shoal::llm
