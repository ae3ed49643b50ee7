#include "llm/hf_config.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <string>

namespace shoal::llm {
namespace {

using Json = nlohmann::json;

Json Small(const std::string& model_type) {
  return {{"model_type", model_type}, {"hidden_size", 64},
          {"intermediate_size", 96},  {"num_hidden_layers", 2},
          {"num_attention_heads", 4}, {"num_key_value_heads", 2},
          {"vocab_size", 10},         {"max_position_embeddings", 4096},
          {"rms_norm_eps", 1e-5}};
}

Result<HfConfig> Read(const Json& json) { return ReadHfConfig("c", json.dump(), ""); }

TEST(HfConfigTest, ReadsEveryModelType) {
  for (const char* type : {"llama", "mistral", "qwen2", "qwen3"}) {
    const auto config = Read(Small(type));
    ASSERT_TRUE(config.ok()) << config.status().ToString();
    EXPECT_EQ(config->model.head_dim, 16);
    EXPECT_EQ(config->model.rope.dims, 16);
    EXPECT_EQ(config->model.rope.pairs, RopePairs::kHalves) << type;
    EXPECT_EQ(config->model.qk_norm, std::string(type) == "qwen3");
    EXPECT_FALSE(config->model.tied_embeddings);
    EXPECT_FALSE(config->int4.has_value());
  }
  Json moe = Small("qwen3_moe");
  moe.update({{"num_experts", 8}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 32}});
  const auto config = Read(moe);
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->model.experts, 8);
  EXPECT_EQ(config->model.expert_ff_dim, 32);
  EXPECT_TRUE(config->model.separate_experts);
}

TEST(HfConfigTest, NamesWhatIsNotSupported) {
  EXPECT_EQ(
      Read(Small("gpt2")).status().message(),
      "c: model_type \"gpt2\" is not supported; supported are llama, mistral, mixtral, qwen2, "
      "qwen3, qwen3_moe");
  const auto message = [](const Json& change) {
    Json json = Small("qwen2");
    json.update(change);
    const auto config = Read(json);
    EXPECT_EQ(config.status().code(), Code::kInvalidArgument) << change;
    return std::string(config.status().message());
  };
  EXPECT_EQ(message({{"hidden_act", "gelu"}}),
            "c: hidden_act \"gelu\" is not supported; supported are silu");
  EXPECT_NE(message({{"rope_scaling", {{"type", "dynamic"}, {"factor", 2}}}}).find("dynamic"),
            std::string::npos);
  EXPECT_NE(message({{"use_sliding_window", true}}).find("use_sliding_window"), std::string::npos);
  const auto quantised = [&](const Json& quantisation) {
    return message({{"quantization_config", quantisation}});
  };
  EXPECT_NE(quantised({{"quant_method", "fp8"}}).find("fp8"), std::string::npos);
  EXPECT_NE(quantised({{"quant_method", "gptq"}, {"bits", 3}}).find("3"), std::string::npos);
  EXPECT_NE(quantised({{"quant_method", "awq"}, {"bits", 4}, {"version", "gemv"}}).find("gemv"),
            std::string::npos);
}

TEST(HfConfigTest, RefusesWhatCannotBe) {
  for (const char* key : {"model_type", "hidden_size", "num_hidden_layers", "vocab_size"}) {
    Json json = Small("llama");
    json.erase(key);
    EXPECT_EQ(Read(json).status().message(), std::string("c: has no \"") + key + "\"");
  }
  const auto code = [](const Json& change) {
    Json json = Small("llama");
    json.update(change);
    return Read(json).status().code();
  };
  EXPECT_EQ(code({{"hidden_size", -1}}), Code::kCorruption);
  EXPECT_EQ(code({{"hidden_size", 1e12}}), Code::kCorruption);
  EXPECT_EQ(code({{"hidden_size", "64"}}), Code::kCorruption);
  EXPECT_EQ(code({{"num_key_value_heads", 3}}), Code::kCorruption);
  EXPECT_EQ(code({{"num_attention_heads", 5}, {"num_key_value_heads", 5}}), Code::kCorruption);
  EXPECT_EQ(code({{"rms_norm_eps", 0}}), Code::kCorruption);
  EXPECT_EQ(code({{"head_dim", 15}}), Code::kCorruption);
  EXPECT_FALSE(ReadHfConfig("c", "[", "").ok());
  EXPECT_FALSE(ReadHfConfig("c", "7", "").ok());
}

TEST(HfConfigTest, NullIsNotThere) {
  Json json = Small("mistral");
  json["sliding_window"] = nullptr;
  json["rope_scaling"] = nullptr;
  json["head_dim"] = nullptr;
  EXPECT_EQ(Read(json)->model.sliding_window, 0);
  json["sliding_window"] = 4096;
  EXPECT_EQ(Read(json)->model.sliding_window, 4096);
}

// Llama 3.2 1B, whose factors were computed beside with doubles.
TEST(HfConfigTest, Llama3Scaling) {
  Json json = Small("llama");
  json.update({{"head_dim", 64}, {"rope_theta", 500000.0}});
  json["rope_scaling"] = {{"rope_type", "llama3"},
                          {"factor", 32.0},
                          {"low_freq_factor", 1.0},
                          {"high_freq_factor", 4.0},
                          {"original_max_position_embeddings", 8192}};
  const auto config = Read(json);
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  const RopeConfig& rope = config->model.rope;
  EXPECT_EQ(rope.base, 500000.0F);
  ASSERT_EQ(rope.frequency_factors.size(), 32U);
  for (std::size_t i = 0; i < 32; ++i) {
    const double wavelength = 2 * M_PI * std::pow(500000.0, 2.0 * static_cast<double>(i) / 64);
    const double s = (8192 / wavelength - 1) / 3;
    const double want = wavelength < 2048 ? 1 : wavelength > 8192 ? 32 : 1 / ((1 - s) / 32 + s);
    EXPECT_NEAR(rope.frequency_factors[i], want, 1e-4 * want) << i;
  }
}

TEST(HfConfigTest, YarnAndLinearScaling) {
  Json json = Small("qwen2");
  json["rope_scaling"] = {
      {"type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 1024}};
  auto config = Read(json);
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->model.rope.scaling, RopeScaling::kYarn);
  EXPECT_EQ(config->model.rope.original_context, 1024);
  EXPECT_EQ(config->model.rope.attention_factor, 1.0F);
  // The whole magnitude is given: here what is beside 1 + 0.1 ln 4.
  json["rope_scaling"]["attention_factor"] = 1.0;
  EXPECT_NEAR(Read(json)->model.rope.attention_factor, 1 / 1.138629, 1e-6);
  json["rope_scaling"] = {{"type", "linear"}, {"factor", 2.0}};
  EXPECT_EQ(Read(json)->model.rope.scaling, RopeScaling::kLinear);
  // As version 5 of transformers writes it.
  json.erase("rope_scaling");
  json["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 1e6}};
  EXPECT_EQ(Read(json)->model.rope.scaling, RopeScaling::kNone);
  EXPECT_EQ(Read(json)->model.rope.base, 1e6F);
}

TEST(HfConfigTest, Quantisations) {
  const auto read = [](const Json& quantisation) {
    Json json = Small("llama");
    json["quantization_config"] = quantisation;
    return *Read(json)->int4;
  };
  Int4Format format = read({{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 64}});
  EXPECT_EQ(format.group, 64U);
  EXPECT_EQ(format.zero_offset, 1U);
  EXPECT_FALSE(format.input_groups);
  format = read({{"quant_method", "gptq"},
                 {"bits", 4},
                 {"group_size", -1},
                 {"desc_act", true},
                 {"checkpoint_format", "gptq_v2"}});
  EXPECT_EQ(format.group, 0U);
  EXPECT_EQ(format.zero_offset, 0U);
  EXPECT_TRUE(format.input_groups);
  format = read({{"quant_method", "awq"}, {"bits", 4}, {"group_size", 128}, {"version", "gemm"}});
  EXPECT_EQ(format.packing, Int4Packing::kAwq);
  EXPECT_EQ(format.zero_offset, 0U);
  // Where files of 2023 have it.
  const auto apart = ReadHfConfig("c", Small("llama").dump(), R"({"bits":4,"group_size":32})");
  ASSERT_TRUE(apart.ok()) << apart.status().ToString();
  EXPECT_EQ(apart->int4->group, 32U);
}

}  // namespace
}  // namespace shoal::llm
