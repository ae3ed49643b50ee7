#include "llm/model_config.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "llm/gguf_testing.h"
#include "llm/model_testing.h"

namespace shoal::llm {
namespace {

// Reads the file that `writer` describes, with tensors of zeros.
Result<ModelConfig> Read(const GgufWriter& writer) {
  const std::string bytes = WithZeroTensors(writer, writer.TensorCount());
  const auto model = ModelOf(bytes);
  if (!model.ok()) return model.status();
  return ReadModelConfig(*model);
}

std::string Message(const Result<ModelConfig>& config) {
  return std::string(config.status().message());
}

TEST(ModelConfigTest, Llama) {
  const ModelConfig small = SmallConfig(Architecture::kLlama);
  GgufWriter writer = ConfigKeys(small);
  writer.SetFloat("llama.rope.freq_base", 500000.0F);
  AddTensors(small, writer);
  const auto config = Read(writer);
  ASSERT_TRUE(config.ok()) << Message(config);
  EXPECT_EQ(config->architecture, Architecture::kLlama);
  EXPECT_EQ(config->layers, 2);
  EXPECT_EQ(config->head_dim, 16);
  EXPECT_EQ(config->kv_dim(), 32);
  EXPECT_EQ(config->vocab, 10);
  EXPECT_EQ(config->rope.base, 500000.0F);
  EXPECT_EQ(config->rope.dims, 16);
  EXPECT_EQ(config->rope.pairs, RopePairs::kNeighbours);
  EXPECT_EQ(config->rope.scaling, RopeScaling::kNone);
  EXPECT_FALSE(config->tied_embeddings);
  EXPECT_FALSE(config->qkv_bias);
  EXPECT_EQ(KvBytesPerToken(*config), 2 * 2 * 32 * 2);
}

TEST(ModelConfigTest, Qwen2HasBiasesAndMayShareItsEmbedding) {
  ModelConfig small = SmallConfig(Architecture::kQwen2);
  small.qkv_bias = true;
  small.tied_embeddings = true;
  GgufWriter writer = ConfigKeys(small);
  writer.SetString("qwen2.rope.scaling.type", "yarn");
  writer.SetFloat("qwen2.rope.scaling.factor", 4.0F);
  writer.SetUnsigned("qwen2.rope.scaling.original_context_length", 32);
  AddTensors(small, writer);
  const auto config = Read(writer);
  ASSERT_TRUE(config.ok()) << Message(config);
  EXPECT_TRUE(config->qkv_bias);
  EXPECT_TRUE(config->tied_embeddings);
  EXPECT_EQ(config->rope.pairs, RopePairs::kHalves);
  EXPECT_EQ(config->rope.scaling, RopeScaling::kYarn);
  EXPECT_EQ(config->rope.factor, 4.0F);
  EXPECT_EQ(config->rope.original_context, 32);
}

TEST(ModelConfigTest, Qwen3HeadsNeedNotFillTheEmbedding) {
  ModelConfig small = SmallConfig(Architecture::kQwen3);
  small.head_dim = 32;
  small.qk_norm = true;
  GgufWriter writer = ConfigKeys(small);
  AddTensors(small, writer);
  const auto config = Read(writer);
  ASSERT_TRUE(config.ok()) << Message(config);
  EXPECT_EQ(config->q_dim(), 128);
  EXPECT_TRUE(config->qk_norm);
}

TEST(ModelConfigTest, Experts) {
  for (const Architecture architecture : {Architecture::kLlama, Architecture::kQwen3Moe}) {
    ModelConfig small = SmallConfig(architecture);
    small.qk_norm = architecture == Architecture::kQwen3Moe;
    small.experts = 8;
    small.experts_used = 2;
    small.expert_ff_dim = 32;
    GgufWriter writer = ConfigKeys(small);
    AddTensors(small, writer);
    const auto config = Read(writer);
    ASSERT_TRUE(config.ok()) << Message(config);
    EXPECT_EQ(config->experts_used, 2);
    EXPECT_EQ(config->expert_ff_dim, 32);
  }
}

TEST(ModelConfigTest, UnknownArchitectureIsNamed) {
  GgufWriter writer;
  writer.SetString("general.architecture", "gpt2");
  EXPECT_EQ(Message(Read(writer)),
            "m.gguf: architecture \"gpt2\" is not supported; supported are llama, qwen2, qwen3, "
            "qwen3moe");
}

TEST(ModelConfigTest, UnknownScalingIsNamed) {
  const ModelConfig small = SmallConfig(Architecture::kLlama);
  GgufWriter writer = ConfigKeys(small);
  writer.SetString("llama.rope.scaling.type", "longrope");
  AddTensors(small, writer);
  EXPECT_EQ(Message(Read(writer)),
            "m.gguf: RoPE scaling \"longrope\" is not supported; supported are none, linear, yarn");
}

TEST(ModelConfigTest, TensorsMustBeThoseOfTheConfiguration) {
  const ModelConfig small = SmallConfig(Architecture::kLlama);
  ModelConfig other = small;
  other.ff_dim = 32;
  GgufWriter wrong = ConfigKeys(small);
  AddTensors(other, wrong);
  EXPECT_EQ(Message(Read(wrong)),
            "m.gguf: tensor \"blk.0.ffn_gate.weight\" is [32, 64]; wanted [96, 64]");

  other = small;
  other.layers = 1;
  GgufWriter missing = ConfigKeys(small);
  AddTensors(other, missing);
  EXPECT_EQ(Message(Read(missing)), "m.gguf: has no tensor \"blk.1.attn_norm.weight\"");

  GgufWriter more = ConfigKeys(small);
  AddTensors(small, more);
  more.AddTensor("blk.0.attn_output.bias", DType::kF32, {64});
  EXPECT_EQ(Message(Read(more)),
            "m.gguf: has a tensor \"blk.0.attn_output.bias\", which is no part of a model of "
            "architecture llama as we compute it");
}

TEST(ModelConfigTest, NumbersThatNoModelHas) {
  ModelConfig small = SmallConfig(Architecture::kLlama);
  small.kv_heads = 3;
  EXPECT_EQ(Message(Read(ConfigKeys(small))),
            "m.gguf: 4 heads cannot share 3 heads of keys and values");
  small = SmallConfig(Architecture::kLlama);
  small.layers = 0;
  EXPECT_EQ(Message(Read(ConfigKeys(small))),
            "m.gguf: key \"llama.block_count\" is 0; wanted 1 to 1024");
  small = SmallConfig(Architecture::kLlama);
  small.rms_eps = -1;
  EXPECT_EQ(Message(Read(ConfigKeys(small))),
            "m.gguf: key \"llama.attention.layer_norm_rms_epsilon\" is -1.000000; wanted a number "
            "above 0");
  EXPECT_EQ(Message(Read(ConfigKeys(SmallConfig(Architecture::kQwen3Moe)))),
            "m.gguf: a qwen3moe without experts");
  EXPECT_EQ(Message(Read(ConfigKeys(SmallConfig(Architecture::kLlama)))),
            "m.gguf: has no tensor \"token_embd.weight\"");
}

TEST(ModelConfigTest, FrequencyFactorsMustBePositive) {
  const ModelConfig small = SmallConfig(Architecture::kLlama);
  GgufWriter writer = ConfigKeys(small);
  writer.AddTensor("rope_freqs.weight", DType::kF32, {8});
  AddTensors(small, writer);
  EXPECT_EQ(Message(Read(writer)), "m.gguf: tensor \"rope_freqs.weight\" has a 0.000000");
}

}  // namespace
}  // namespace shoal::llm
