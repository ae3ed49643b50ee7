// Small models of random weights, made by tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "kernels/float16.h"
#include "llm/gguf_model.h"
#include "llm/gguf_testing.h"
#include "llm/gguf_writer.h"
#include "llm/model_config.h"
#include "llm/model_tensors.h"
#include "llm/model_testing.h"
#include "llm/model_weights.h"

namespace shoal::llm {

// SmallConfig with what the architecture adds, and enough layers to cut.
inline ModelConfig RandomModelConfig(Architecture architecture) {
  ModelConfig config = SmallConfig(architecture);
  config.layers = 5;
  config.vocab = 50;
  config.context = 512;
  config.qkv_bias = architecture == Architecture::kQwen2;
  config.qk_norm = architecture == Architecture::kQwen3 || architecture == Architecture::kQwen3Moe;
  if (architecture == Architecture::kQwen3Moe) {
    config.experts = 6;
    config.experts_used = 2;
    config.expert_ff_dim = 32;
  }
  return config;
}

// `bytes` of random numbers around `scale`, of F32, F16, Q8_0 or Q4_0.
inline std::string RandomTensor(DType dtype, std::size_t bytes, float scale, Random& random) {
  const DTypeInfo& info = Info(dtype);
  std::string out(bytes, '\0');
  const auto next = [&] {
    return scale * (static_cast<float>(random.Bits() % 2001) / 1000.0F - 1.0F);
  };
  for (std::size_t at = 0; at < bytes; at += info.block_bytes) {
    if (dtype == DType::kF32) {
      const float value = next();
      std::memcpy(out.data() + at, &value, sizeof value);
      continue;
    }
    for (std::size_t i = 2; i < info.block_bytes; ++i) {
      out[at + i] = static_cast<char>(random.Bits());
    }
    const float value = dtype == DType::kF16 ? next() : scale / (dtype == DType::kQ8_0 ? 90 : 5);
    const std::uint16_t bits = kernels::F16FromFloat(value);
    std::memcpy(out.data() + at, &bits, sizeof bits);
  }
  return out;
}

// A model that owns its bytes.
class RandomModel {
 public:
  // Matrices are of `dtype`; norms and biases of F32.
  RandomModel(const ModelConfig& config, DType dtype, std::uint64_t seed) {
    GgufWriter writer = ConfigKeys(config);
    const std::vector<TensorSpec> specs = TensorsOf(config);
    std::vector<DType> types;
    for (const TensorSpec& spec : specs) {
      types.push_back(spec.shape.rank() > 1 ? dtype : DType::kF32);
      writer.AddTensor(spec.name, types.back(), spec.shape);
    }
    bytes_ = writer.Header();
    Random random(seed);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const bool norm = specs[i].name.find("norm") != std::string::npos;
      bytes_ += RandomTensor(types[i], writer.TensorBytes(i), norm ? 1.0F : 0.3F, random);
      bytes_.append(writer.Padding(i), '\0');
    }
    Result<GgufModel> model = ModelOf(bytes_);
    SHOAL_CHECK(model.ok());
    model_ = std::move(*model);
    weights_ = WeightsOf(model_);
    config_ = *ReadModelConfig(model_);
  }
  RandomModel(const RandomModel&) = delete;
  RandomModel& operator=(const RandomModel&) = delete;

  const GgufModel& gguf() const { return model_; }
  const ModelWeights& weights() const { return weights_; }
  // As read from the file.
  const ModelConfig& config() const { return config_; }

 private:
  std::string bytes_;
  GgufModel model_;
  ModelWeights weights_;
  ModelConfig config_;
};

}  // namespace shoal::llm
