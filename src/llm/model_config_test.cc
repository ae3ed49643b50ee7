#include "llm/model_config.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "llm/gguf_testing.h"
#include "llm/model_tensors.h"

namespace shoal::llm {
namespace {

// A configuration of each architecture, as small as it goes.
ModelConfig Small(Architecture architecture) {
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
GgufWriter Keys(const ModelConfig& config) {
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

void AddTensors(const ModelConfig& config, GgufWriter& writer) {
  for (const TensorSpec& spec : TensorsOf(config)) {
    writer.AddTensor(spec.name, DType::kF32, spec.shape);
  }
}

// Reads the file that `writer` describes, with tensors of zeros.
Result<ModelConfig> Read(const GgufWriter& writer) {
  const std::string bytes = WithZeroTensors(writer, writer.TensorCount());
  auto file = GgufFile::Parse("m.gguf", AsBytes(bytes));
  if (!file.ok()) return std::move(file).status();
  std::vector<GgufFile> parts;
  parts.push_back(*std::move(file));
  auto model = GgufModel::Make(std::move(parts));
  if (!model.ok()) return std::move(model).status();
  return ReadModelConfig(*model);
}

std::string Message(const Result<ModelConfig>& config) {
  return std::string(config.status().message());
}

TEST(ModelConfigTest, Llama) {
  const ModelConfig small = Small(Architecture::kLlama);
  GgufWriter writer = Keys(small);
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
  ModelConfig small = Small(Architecture::kQwen2);
  small.qkv_bias = true;
  small.tied_embeddings = true;
  GgufWriter writer = Keys(small);
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
  ModelConfig small = Small(Architecture::kQwen3);
  small.head_dim = 32;
  small.qk_norm = true;
  GgufWriter writer = Keys(small);
  AddTensors(small, writer);
  const auto config = Read(writer);
  ASSERT_TRUE(config.ok()) << Message(config);
  EXPECT_EQ(config->q_dim(), 128);
  EXPECT_TRUE(config->qk_norm);
}

TEST(ModelConfigTest, Experts) {
  for (const Architecture architecture : {Architecture::kLlama, Architecture::kQwen3Moe}) {
    ModelConfig small = Small(architecture);
    small.qk_norm = architecture == Architecture::kQwen3Moe;
    small.experts = 8;
    small.experts_used = 2;
    small.expert_ff_dim = 32;
    GgufWriter writer = Keys(small);
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
  const ModelConfig small = Small(Architecture::kLlama);
  GgufWriter writer = Keys(small);
  writer.SetString("llama.rope.scaling.type", "longrope");
  AddTensors(small, writer);
  EXPECT_EQ(Message(Read(writer)),
            "m.gguf: RoPE scaling \"longrope\" is not supported; supported are none, linear, yarn");
}

TEST(ModelConfigTest, TensorsMustBeThoseOfTheConfiguration) {
  const ModelConfig small = Small(Architecture::kLlama);
  ModelConfig other = small;
  other.ff_dim = 32;
  GgufWriter wrong = Keys(small);
  AddTensors(other, wrong);
  EXPECT_EQ(Message(Read(wrong)),
            "m.gguf: tensor \"blk.0.ffn_gate.weight\" is [32, 64]; wanted [96, 64]");

  other = small;
  other.layers = 1;
  GgufWriter missing = Keys(small);
  AddTensors(other, missing);
  EXPECT_EQ(Message(Read(missing)), "m.gguf: has no tensor \"blk.1.attn_norm.weight\"");

  GgufWriter more = Keys(small);
  AddTensors(small, more);
  more.AddTensor("blk.0.attn_output.bias", DType::kF32, {64});
  EXPECT_EQ(Message(Read(more)),
            "m.gguf: has a tensor \"blk.0.attn_output.bias\", which is no part of a model of "
            "architecture llama as we compute it");
}

TEST(ModelConfigTest, NumbersThatNoModelHas) {
  ModelConfig small = Small(Architecture::kLlama);
  small.kv_heads = 3;
  EXPECT_EQ(Message(Read(Keys(small))), "m.gguf: 4 heads cannot share 3 heads of keys and values");
  small = Small(Architecture::kLlama);
  small.layers = 0;
  EXPECT_EQ(Message(Read(Keys(small))), "m.gguf: key \"llama.block_count\" is 0; wanted 1 to 1024");
  small = Small(Architecture::kLlama);
  small.rms_eps = -1;
  EXPECT_EQ(Message(Read(Keys(small))),
            "m.gguf: key \"llama.attention.layer_norm_rms_epsilon\" is -1.000000; wanted a number "
            "above 0");
  EXPECT_EQ(Message(Read(Keys(Small(Architecture::kQwen3Moe)))),
            "m.gguf: a qwen3moe without experts");
  EXPECT_EQ(Message(Read(Keys(Small(Architecture::kLlama)))),
            "m.gguf: has no tensor \"token_embd.weight\"");
}

TEST(ModelConfigTest, FrequencyFactorsMustBePositive) {
  const ModelConfig small = Small(Architecture::kLlama);
  GgufWriter writer = Keys(small);
  writer.AddTensor("rope_freqs.weight", DType::kF32, {8});
  AddTensors(small, writer);
  EXPECT_EQ(Message(Read(writer)), "m.gguf: tensor \"rope_freqs.weight\" has a 0.000000");
}

}  // namespace
}  // namespace shoal::llm
