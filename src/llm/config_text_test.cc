#include "llm/config_text.h"

#include <gtest/gtest.h>

#include "llm/model_testing.h"

namespace shoal::llm {
namespace {

TEST(ConfigText, ComesBackAsItWas) {
  for (const Architecture architecture : {Architecture::kLlama, Architecture::kQwen2,
                                          Architecture::kQwen3, Architecture::kQwen3Moe}) {
    ModelConfig config = SmallConfig(architecture);
    config.rms_eps = 1.0F / 3;
    config.rope.frequency_factors = {1.0F, 1.5F, 2.25F, 4.0F, 1.0F, 8.0F, 1e-3F, 7.0F};
    config.rope.pairs = RopePairs::kHalves;
    if (architecture == Architecture::kQwen3Moe) {
      config.experts = 4;
      config.experts_used = 2;
      config.expert_ff_dim = 32;
    }
    const std::string text = ConfigText(config);
    const Result<ModelConfig> back = ParseConfig(text);
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(ConfigText(*back), text);
    EXPECT_EQ(back->architecture, architecture);
    EXPECT_EQ(back->rms_eps, config.rms_eps);
    EXPECT_EQ(back->rope.frequency_factors, config.rope.frequency_factors);
    EXPECT_EQ(back->rope.pairs, RopePairs::kHalves);
    EXPECT_EQ(back->q_dim(), config.q_dim());
  }
}

TEST(ConfigText, WhatNoModelHasIsRefused) {
  const std::string good = ConfigText(SmallConfig(Architecture::kLlama));
  ASSERT_TRUE(ParseConfig(good).ok());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return ParseConfig(text).status().code();
  };
  EXPECT_EQ(with("\nlayers 2", "\nlayers 0"), Code::kCorruption);
  EXPECT_EQ(with("\nlayers 2", "\nlayers 99999999"), Code::kCorruption);
  EXPECT_EQ(with("\nheads 4", "\nheads 3"), Code::kCorruption);
  EXPECT_EQ(with("\nhead_dim 16", "\nhead_dim 1048576"), Code::kCorruption);
  EXPECT_EQ(with("architecture 0", "architecture 9"), Code::kCorruption);
  EXPECT_EQ(with("rope_dims 16", "rope_dims 15"), Code::kCorruption);
  EXPECT_EQ(with("\nlayers 2", "\nlayers"), Code::kCorruption);
  EXPECT_EQ(with("\nlayers 2", "\nlayers -2"), Code::kCorruption);
  EXPECT_EQ(with("\nlayers 2", ""), Code::kCorruption);
  EXPECT_EQ(with("rms_eps ", "rms_eps 0\nx "), Code::kCorruption);
  EXPECT_EQ(ParseConfig("").status().code(), Code::kCorruption);
}

}  // namespace
}  // namespace shoal::llm
