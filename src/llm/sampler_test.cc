#include "llm/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace shoal::llm {
namespace {

std::vector<std::int32_t> History(std::size_t n) {
  std::vector<std::int32_t> history(n);
  for (std::size_t i = 0; i < n; ++i) history[i] = static_cast<std::int32_t>(i % 3);
  return history;
}

// How often each of `logits` is drawn at 20,000 positions.
std::vector<double> Shares(const SamplingOptions& options, const std::vector<float>& logits) {
  constexpr std::size_t kDraws = 20000;
  Sampler sampler(options);
  std::vector<double> shares(logits.size(), 0);
  std::vector<std::int32_t> history;
  for (std::size_t i = 0; i < kDraws; ++i) {
    const std::int32_t token = sampler.Sample(logits, history).token;
    shares[static_cast<std::size_t>(token)] += 1.0 / kDraws;
    history.push_back(9);
  }
  return shares;
}

SamplingOptions Plain() {
  SamplingOptions options;
  options.temperature = 1;
  options.top_k = 0;
  options.top_p = 1;
  options.min_p = 0;
  return options;
}

const std::vector<float> kLogits = {std::log(0.5F),
                                    std::log(0.25F),
                                    std::log(0.125F),
                                    std::log(0.08F),
                                    std::log(0.04F),
                                    std::log(0.005F),
                                    -30,
                                    -30,
                                    -30,
                                    -30};

TEST(SamplerTest, DrawsByProbability) {
  const std::vector<double> shares = Shares(Plain(), kLogits);
  EXPECT_NEAR(shares[0], 0.5, 0.015);
  EXPECT_NEAR(shares[1], 0.25, 0.015);
  EXPECT_NEAR(shares[4], 0.04, 0.006);
}

TEST(SamplerTest, TemperatureSharpens) {
  SamplingOptions options = Plain();
  options.temperature = 0.5F;
  const std::vector<double> shares = Shares(options, kLogits);
  EXPECT_NEAR(shares[0] / shares[1], 4, 0.5);
}

TEST(SamplerTest, ZeroTemperatureIsTheMostLikelyToken) {
  SamplingOptions options = Plain();
  options.temperature = 0;
  EXPECT_NEAR(Shares(options, kLogits)[0], 1, 1e-9);
}

TEST(SamplerTest, TopKTopPAndMinPCut) {
  SamplingOptions options = Plain();
  options.top_k = 2;
  EXPECT_EQ(Shares(options, kLogits)[2], 0);
  EXPECT_GT(Shares(options, kLogits)[1], 0.3);
  options = Plain();
  options.top_p = 0.8F;  // 0.5 + 0.25 is not enough, the third is needed.
  EXPECT_GT(Shares(options, kLogits)[2], 0.1);
  EXPECT_EQ(Shares(options, kLogits)[3], 0);
  options = Plain();
  options.min_p = 0.3F;
  EXPECT_GT(Shares(options, kLogits)[1], 0.3);
  EXPECT_EQ(Shares(options, kLogits)[2], 0);
  options.top_p = 0;
  EXPECT_NEAR(Shares(options, kLogits)[0], 1, 1e-9);
}

TEST(SamplerTest, PenaltiesAndBias) {
  SamplingOptions options = Plain();
  options.temperature = 0;
  const std::vector<float> logits = {2, 1.9F, 1.8F, -1, -1, -1, -1, -1, -1, -1};
  EXPECT_EQ(Sampler(options).Sample(logits, History(1)).token, 0);
  options.repetition_penalty = 1.2F;
  EXPECT_EQ(Sampler(options).Sample(logits, History(1)).token, 1);
  EXPECT_EQ(Sampler(options).Sample(logits, History(2)).token, 2);
  options.penalty_window = 1;  // Only the last token, which is 1.
  EXPECT_EQ(Sampler(options).Sample(logits, History(2)).token, 0);
  options = Plain();
  options.temperature = 0;
  options.frequency_penalty = 0.06F;                                // Token 0 twice, 1 and 2 once.
  EXPECT_EQ(Sampler(options).Sample(logits, History(4)).token, 0);  // 1.88 and 1.84.
  options.frequency_penalty = 0.11F;                                // 1.78 and 1.79.
  EXPECT_EQ(Sampler(options).Sample(logits, History(4)).token, 1);
  options.logit_bias = {{7, 50.0F}};
  EXPECT_EQ(Sampler(options).Sample(logits, History(4)).token, 7);
}

TEST(SamplerTest, LogprobsAreTheModels) {
  SamplingOptions options = Plain();
  options.temperature = 0;
  options.top_logprobs = 2;
  options.logit_bias = {{1, 50.0F}};
  const SampledToken sampled = Sampler(options).Sample(kLogits, {});
  EXPECT_EQ(sampled.token, 1);
  EXPECT_NEAR(sampled.logprob, std::log(0.25), 1e-5);
  ASSERT_EQ(sampled.top.size(), 2U);
  EXPECT_EQ(sampled.top[0].token, 0);
  EXPECT_NEAR(sampled.top[0].logprob, std::log(0.5), 1e-5);
}

TEST(SamplerTest, IsAFunctionOfSeedAndPosition) {
  SamplingOptions options = Plain();
  options.seed = 5;
  Sampler one(options);
  Sampler other(options);
  for (std::size_t i = 0; i < 50; ++i) one.Sample(kLogits, History(i));
  EXPECT_EQ(one.Sample(kLogits, History(77)).token, other.Sample(kLogits, History(77)).token);
}

TEST(SamplerTest, NonsenseIsRefused) {
  SamplingOptions options;
  options.top_p = 1.5F;
  EXPECT_EQ(CheckSamplingOptions(options, 10).code(), Code::kInvalidArgument);
  options = {};
  options.temperature = NAN;
  EXPECT_EQ(CheckSamplingOptions(options, 10).code(), Code::kInvalidArgument);
  options = {};
  options.logit_bias = {{10, 1.0F}};
  EXPECT_EQ(CheckSamplingOptions(options, 10).code(), Code::kInvalidArgument);
  EXPECT_TRUE(CheckSamplingOptions({}, 10).ok());
}

TEST(SamplerTest, LogitsThatAreNoNumbersDoNoHarm) {
  const std::vector<float> logits(10, NAN);
  const std::int32_t token = Sampler(Plain()).Sample(logits, {}).token;
  EXPECT_GE(token, 0);
  EXPECT_LT(token, 10);
}

}  // namespace
}  // namespace shoal::llm
