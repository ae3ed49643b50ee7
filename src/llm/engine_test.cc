#include "llm/engine.h"

#include <gtest/gtest.h>

#include <vector>

#include "llm/draft.h"
#include "llm/random_model_testing.h"

namespace shoal::llm {
namespace {

const std::vector<std::int32_t> kPrompt = {1, 5, 9, 13, 5, 9, 13, 5, 9};

std::vector<std::int32_t> Generate(Engine& engine, const SamplingOptions& options,
                                   std::size_t guesses, std::size_t count) {
  Generation generation(engine, options, guesses);
  generation.Append(kPrompt);
  std::vector<std::int32_t> tokens;
  for (std::size_t i = 0; i < count; ++i) tokens.push_back(generation.Next()->token);
  return tokens;
}

class EngineTest : public testing::Test {
 protected:
  EngineTest() : model_(RandomModelConfig(Architecture::kLlama), DType::kQ4_0, 23) {}

  std::unique_ptr<Engine> Load(const EngineOptions& options) {
    return *Engine::Load(model_.weights(), model_.config(), options, serial_);
  }

  Serial serial_;
  RandomModel model_;
};

TEST_F(EngineTest, GuessesAndChunksDoNotChangeTheTokens) {
  for (const float temperature : {0.0F, 1.0F}) {
    SamplingOptions options;
    options.temperature = temperature;
    options.seed = 4;
    const auto engine = Load({});
    const std::vector<std::int32_t> want = Generate(*engine, options, 0, 100);
    EXPECT_EQ(Generate(*engine, options, 4, 100), want);
    EXPECT_EQ(Generate(*engine, options, 16, 100), want);
    EXPECT_EQ(Generate(*Load({.context = 0, .chunk = 2}), options, 3, 100), want);
  }
}

TEST_F(EngineTest, GuessesAreRightWhereTextRepeats) {
  SamplingOptions options;
  options.temperature = 0;  // Small models soon go in circles.
  const auto engine = Load({});
  Generation generation(*engine, options, 8);
  generation.Append(kPrompt);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(generation.Next().ok());
  EXPECT_GT(generation.guessed_right(), 50U);
  EXPECT_LE(generation.guessed_right(), generation.guessed());
}

TEST_F(EngineTest, AFullContextIsAnError) {
  const auto engine = Load({.context = 64});
  Generation generation(*engine, {}, 4);
  generation.Append(kPrompt);
  Status status;
  std::size_t count = 0;
  for (; status.ok() && count < 100; ++count) status = generation.Next().status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(count, 64 - kPrompt.size() + 2);  // The last token needs no place of its own.
}

TEST_F(EngineTest, ATurnInBetweenIsAsIfItHadBeenThere) {
  SamplingOptions options;
  options.temperature = 0;
  const auto engine = Load({});
  Generation one(*engine, options, 8);
  one.Append(kPrompt);
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(one.Next().ok());
  one.Append(kPrompt);
  Generation other(*engine, options, 0);
  other.Append(one.history());
  for (int i = 0; i < 30; ++i) EXPECT_EQ(one.Next()->token, other.Next()->token);
}

TEST_F(EngineTest, AnotherHistoryIsAsIfItHadBeenTheFirst) {
  SamplingOptions options;
  options.temperature = 0;
  const auto engine = Load({});
  Generation one(*engine, options, 4);
  one.Append(kPrompt);
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(one.Next().ok());
  std::vector<std::int32_t> changed(one.history().begin(), one.history().begin() + 20);
  for (const bool longer : {false, true}) {
    if (longer) changed.insert(changed.end(), {3, 1, 4});
    one.SetHistory(changed);
    Generation other(*engine, options, 0);
    other.Append(changed);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(one.Next()->token, other.Next()->token);
  }
}

TEST(GuessNextTest, TakesWhatFollowedTheLatestOccurrence) {
  const std::vector<std::int32_t> history = {1, 2, 3, 7, 8, 1, 2, 3, 4, 5, 6, 1, 2, 3};
  EXPECT_EQ(GuessNext(history, 2), (std::vector<std::int32_t>{4, 5}));
  EXPECT_EQ(GuessNext(history, 9), (std::vector<std::int32_t>{4, 5, 6, 1, 2, 3}));
  EXPECT_TRUE(GuessNext(history, 0).empty());
  EXPECT_TRUE(GuessNext(std::vector<std::int32_t>{1, 2, 3, 4}, 4).empty());
  EXPECT_TRUE(GuessNext(std::vector<std::int32_t>{1}, 4).empty());
}

}  // namespace
}  // namespace shoal::llm
