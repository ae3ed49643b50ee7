#include "llm/model_config_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <bit>
#include <string>

#include "llm/random_model_testing.h"

namespace shoal::llm {
namespace {

ModelConfig YarnConfig() {
  ModelConfig config = RandomModelConfig(Architecture::kQwen3Moe);
  config.rms_eps = 1e-6F;
  config.separate_experts = true;
  config.sliding_window = 4096;
  config.context = std::int64_t{1} << 31U;
  config.rope.base = 1.0e6F / 3.0F;
  config.rope.pairs = RopePairs::kHalves;
  config.rope.scaling = RopeScaling::kYarn;
  config.rope.factor = 4.1F;
  config.rope.original_context = 32768;
  config.rope.attention_factor = 1.0F / 3.0F;
  config.rope.frequency_factors = {1, 0.1F, 1e-30F, 3.4e38F, 7, 8, 9, 1.0F / 3.0F};
  return config;
}

// Every field of both.
TEST(ModelConfigTextTest, ComesBackToTheBit) {
  for (const ModelConfig& config : {RandomModelConfig(Architecture::kLlama),
                                    RandomModelConfig(Architecture::kQwen2), YarnConfig()}) {
    const std::string text = SerializeConfig(config);
    const auto back = ParseConfig("c", text);
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(SerializeConfig(*back), text);
    EXPECT_EQ(back->architecture, config.architecture);
    EXPECT_EQ(back->q_dim(), config.q_dim());
    EXPECT_EQ(back->context, config.context);
    EXPECT_EQ(back->qk_norm, config.qk_norm);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(back->rms_eps),
              std::bit_cast<std::uint32_t>(config.rms_eps));
    EXPECT_EQ(back->rope.pairs, config.rope.pairs);
    EXPECT_EQ(back->rope.scaling, config.rope.scaling);
    EXPECT_EQ(back->rope.base, config.rope.base);
    EXPECT_EQ(back->rope.frequency_factors, config.rope.frequency_factors);
  }
}

TEST(ModelConfigTextTest, RefusesWhatNoModelHas) {
  const nlohmann::json good = nlohmann::json::parse(SerializeConfig(YarnConfig()));
  const auto message = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(pointer)] = value;
    return std::string(ParseConfig("c", bad.dump()).status().message());
  };
  EXPECT_EQ(message("/layers", 0), "c: \"layers\" is 0; wanted a whole number from 1 to 1024");
  EXPECT_EQ(message("/layers", -1),
            "c: \"layers\" is a number; wanted a whole number from 1 to 1024");
  EXPECT_EQ(message("/kv_heads", 3), "c: \"kv_heads\" does not divide 4 heads");
  EXPECT_EQ(message("/head_dim", 1 << 20),
            "c: \"head_dim\" makes heads of 4194304 numbers together");
  EXPECT_EQ(message("/experts_used", 7),
            "c: \"experts_used\" is 7; wanted a whole number from 1 to 6");
  EXPECT_EQ(message("/rms_eps", 0), "c: \"rms_eps\" is not a number above 0");
  EXPECT_EQ(message("/rope/dims", 15), "c: \"dims\" is odd; wanted pairs");
  EXPECT_EQ(message("/rope/original_context", 0),
            "c: \"original_context\" is 0; wanted a whole number from 1 to 2147483648");
  EXPECT_EQ(message("/rope/frequency_factors", {1, 2}),
            "c: \"frequency_factors\" is not a list of no or 8 numbers");
  EXPECT_EQ(message("/rope/frequency_factors/3", 1e39),
            "c: \"frequency_factors\" has one that is not a number above 0");
  EXPECT_EQ(message("/rope", 1), "c: \"rope\" is no object");
  EXPECT_EQ(message("/qk_norm", 1), "c: \"qk_norm\" is neither true nor false");
  EXPECT_NE(message("/architecture", "gpt2").find("supported are llama, qwen2"), std::string::npos);
  EXPECT_NE(message("/attention_sinks", true).find("attention_sinks"), std::string::npos);
  for (const auto& [key, value] : good.items()) {
    nlohmann::json bad = good;
    bad.erase(key);
    EXPECT_FALSE(ParseConfig("c", bad.dump()).ok()) << key;
  }
  for (const char* text : {"", "[]", "{}", "{\"layers\":", "null"}) {
    EXPECT_FALSE(ParseConfig("c", text).ok()) << text;
  }
  EXPECT_EQ(ParseConfig("c", std::string(kMaxConfigTextBytes + 1, ' ')).status().code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::llm
