#include "llm/hf_model.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "llm/engine.h"
#include "llm/hf_names.h"
#include "llm/random_model_testing.h"
#include "llm/safetensors_testing.h"

namespace shoal::llm {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kNames = {{
    {"token_embd.", "model.embed_tokens."},
    {"output_norm.", "model.norm."},
    {"output.", "lm_head."},
    {"attn_norm.", "input_layernorm."},
    {"ffn_norm.", "post_attention_layernorm."},
    {"attn_q.", "self_attn.q_proj."},
    {"attn_k.", "self_attn.k_proj."},
    {"attn_v.", "self_attn.v_proj."},
    {"attn_output.", "self_attn.o_proj."},
    {"attn_q_norm.", "self_attn.q_norm."},
    {"attn_k_norm.", "self_attn.k_norm."},
    {"ffn_gate_inp.", "mlp.gate."},
    {"ffn_gate", "gate_proj"},
    {"ffn_up", "up_proj"},
    {"ffn_down", "down_proj"},
}};

// "model.layers.2." and "mlp.up_proj.weight" of "blk.2.ffn_up.weight".
std::pair<std::string, std::string> TheirName(std::string gguf) {
  std::string prefix;
  if (gguf.starts_with("blk.")) {
    const std::size_t dot = gguf.find('.', 4);
    prefix = "model.layers." + gguf.substr(4, dot - 3);
    gguf = gguf.substr(dot + 1);
  }
  for (const auto& [ours, theirs] : kNames) {
    if (!gguf.starts_with(ours)) continue;
    const bool mlp = theirs.ends_with("_proj");
    return {prefix + (mlp ? "mlp." : ""), std::string(theirs) + gguf.substr(ours.size())};
  }
  ADD_FAILURE() << gguf;
  return {};
}

std::string_view Text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The weights of a GGUF model as two safetensors files.
struct Converted {
  explicit Converted(const RandomModel& model) {
    std::array<SafetensorsWriter, 2> writers;
    std::size_t count = 0;
    for (const auto& [name, tensor] : model.weights().tensors()) {
      const auto [prefix, rest] = TheirName(name);
      const char* type = tensor.dtype == DType::kF16 ? "F16" : "F32";
      SafetensorsWriter& writer = writers[count++ % 2];
      const std::size_t at = rest.find("_exps.");
      if (at == std::string::npos) {
        writer.Add(prefix + rest, type, tensor.shape, Text(tensor.bytes));
        continue;
      }
      const auto experts = static_cast<std::size_t>(tensor.shape[0]);
      const std::size_t each = tensor.bytes.size() / experts;
      for (std::size_t e = 0; e < experts; ++e) {
        writer.Add(prefix + "experts." + std::to_string(e) + "." + rest.substr(0, at) + ".weight",
                   type, {tensor.shape[1], tensor.shape[2]},
                   Text(tensor.bytes.subspan(e * each, each)));
      }
    }
    writers[1].Add("model.layers.0.self_attn.rotary_emb.inv_freq", "F32", {1}, "0000");
    config.model = model.config();
    config.model.qkv_bias = false;
    config.model.separate_experts = config.model.experts > 0;
    for (std::size_t i = 0; i < 2; ++i) {
      bytes[i] = writers[i].Bytes();
      files.push_back(*SafetensorsFile::Parse(std::to_string(i), AsBytes(bytes[i])));
    }
  }

  HfConfig config;
  std::array<std::string, 2> bytes;
  std::vector<SafetensorsFile> files;
};

std::vector<float> Logits(const ModelWeights& weights, const ModelConfig& config) {
  Serial serial;
  const auto engine = *Engine::Load(weights, config, {}, serial);
  KvSequence sequence = engine->NewSequence();
  const std::vector<std::int32_t> tokens = {1, 5, 9, 13, 5, 9, 13, 5, 9};
  const auto logits = engine->Feed(sequence, tokens, tokens.size());
  return {logits->begin(), logits->end()};
}

// The same weights under the other names: the same bits.
TEST(HfModelTest, ComputesWhatTheGgufModelDoes) {
  for (const Architecture architecture :
       {Architecture::kQwen2, Architecture::kQwen3, Architecture::kQwen3Moe}) {
    for (const DType dtype : {DType::kF32, DType::kF16}) {
      const RandomModel random(RandomModelConfig(architecture), dtype, 31);
      const Converted converted(random);
      const auto model = MakeHfModel("m", converted.config, converted.files);
      ASSERT_TRUE(model.ok()) << model.status().ToString();
      EXPECT_EQ(model->config.qkv_bias, architecture == Architecture::kQwen2);
      EXPECT_EQ(Logits(model->weights, model->config), Logits(random.weights(), random.config()))
          << architecture;
    }
  }
}

TEST(HfModelTest, TensorsMustBeTheModels) {
  const RandomModel random(RandomModelConfig(Architecture::kQwen3), DType::kF32, 31);
  Converted converted(random);
  std::vector<SafetensorsFile> files = {converted.files[0]};
  EXPECT_EQ(MakeHfModel("m", converted.config, files).status().code(), Code::kNotFound);
  files = {converted.files[0], converted.files[0]};
  EXPECT_EQ(MakeHfModel("m", converted.config, files).status().code(), Code::kCorruption);
  SafetensorsWriter writer;
  writer.Add("model.layers.0.self_attn.sinks", "F32", {1}, "0000");
  const std::string bytes = writer.Bytes();
  files = converted.files;
  files.push_back(*SafetensorsFile::Parse("x", AsBytes(bytes)));
  EXPECT_EQ(MakeHfModel("m", converted.config, files).status().message(),
            "m: has a tensor \"model.layers.0.self_attn.sinks\", which is no part of a model of "
            "architecture qwen3 as we compute it");
  converted.config.model.dim = 32;
  EXPECT_EQ(MakeHfModel("m", converted.config, converted.files).status().code(), Code::kCorruption);
}

// What AutoGPTQ leaves in files of models that are tied or have no biases.
TEST(HfModelTest, WhatIsNotUsedIsLeftOut) {
  ModelConfig config = RandomModelConfig(Architecture::kQwen3);
  config.tied_embeddings = true;
  const RandomModel random(config, DType::kF32, 31);
  Converted converted(random);
  converted.config.int4 = Int4Format{.packing = Int4Packing::kGptq, .group = 32};
  SafetensorsWriter writer;
  writer.Add("lm_head.weight", "F32", {1}, "0000");
  writer.Add("model.layers.0.mlp.down_proj.bias", "F16", {2}, std::string(4, '\0'));
  writer.Add("model.layers.0.self_attn.q_proj.bias", "F16", {2}, std::string(4, '\0'));
  const std::string bytes = writer.Bytes();
  converted.files.push_back(*SafetensorsFile::Parse("x", AsBytes(bytes)));
  const auto model = MakeHfModel("m", converted.config, converted.files);
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_FALSE(model->config.qkv_bias);
}

TEST(HfModelTest, IntegersMustFitTogether) {
  HfConfig config;
  config.model = RandomModelConfig(Architecture::kQwen3);
  config.int4 = Int4Format{.packing = Int4Packing::kGptq, .group = 32, .zero_offset = 1};
  const auto message = [&](const Shape& weights, const Shape& zeros, const char* type,
                           const Shape& scales) {
    const auto zero_bytes = [](const Shape& shape, std::size_t each) {
      return std::string(static_cast<std::size_t>(shape.elements()) * each, '\0');
    };
    SafetensorsWriter writer;
    writer.Add("lm_head.qweight", type, weights, zero_bytes(weights, 4));
    writer.Add("lm_head.qzeros", "I32", zeros, zero_bytes(zeros, 4));
    writer.Add("lm_head.scales", "F16", scales, zero_bytes(scales, 2));
    const std::string bytes = writer.Bytes();
    const std::vector<SafetensorsFile> files = {*SafetensorsFile::Parse("x", AsBytes(bytes))};
    return std::string(MakeHfModel("m", config, files).status().message());
  };
  // 64 inputs, 8 outputs: then only the other tensors are missing.
  EXPECT_EQ(message({8, 8}, {2, 1}, "I32", {2, 8}), "m: has no tensor \"token_embd.weight\"");
  EXPECT_EQ(message({8, 8}, {1, 1}, "I32", {2, 8}),
            "m: tensor \"lm_head.qzeros\" is I32 [1, 1]; wanted I32 [2, 1]");
  EXPECT_EQ(message({8, 8}, {2, 1}, "I32", {2, 4}),
            "m: tensor \"lm_head.scales\" is F16 [2, 4]; wanted floats [2, 8]");
  EXPECT_EQ(message({8, 8}, {2, 1}, "F32", {2, 8}),
            "m: tensor \"lm_head.qweight\" is F32 [8, 8]; wanted a matrix of I32");
  EXPECT_EQ(message({0, 8}, {0, 1}, "I32", {0, 8}),
            "m: lm_head: 0 inputs and 8 outputs; wanted multiples of 32 and of 8");
  config.int4->group = 16;
  EXPECT_EQ(message({8, 8}, {4, 1}, "I32", {4, 8}),
            "m: lm_head: groups of 16 weights; we compute with multiples of 32");
  config.int4->group = 32;
  config.int4->input_groups = true;
  EXPECT_EQ(message({8, 8}, {2, 1}, "I32", {2, 8}), "m: has no tensor \"lm_head.g_idx\"");
}

TEST(HfModelTest, UnknownNamesStay) {
  EXPECT_EQ(GgufNameOf("model.layers.12.mlp.down_proj.qweight"), "blk.12.ffn_down.qweight");
  EXPECT_EQ(GgufNameOf("model.layers.1.block_sparse_moe.experts.7.w2.weight"),
            "blk.1.ffn_down.7.weight");
  for (const char* name :
       {"", "weight", "model.layers.x.mlp.up_proj.weight", "model.layers..weight",
        "model.layers.1.mlp.experts.up_proj.weight", "transformer.h.0.weight"}) {
    EXPECT_EQ(GgufNameOf(name), name);
  }
}

}  // namespace
}  // namespace shoal::llm
