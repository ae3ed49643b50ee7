#include "llm/stage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/kernel_testing.h"
#include "llm/kv_cache.h"
#include "llm/pipeline_testing.h"
#include "llm/random_model_testing.h"

namespace shoal::llm {
namespace {

using kernels::TestThreads;

constexpr std::size_t kTokens = 150;  // Three pages.

std::vector<std::int32_t> Tokens(std::uint64_t seed, const ModelConfig& config) {
  Random random(seed);
  std::vector<std::int32_t> tokens(kTokens);
  for (std::int32_t& token : tokens) {
    token = static_cast<std::int32_t>(random.Bits() % static_cast<std::uint64_t>(config.vocab));
  }
  return tokens;
}

struct Kind {
  Architecture architecture;
  DType dtype;
  kernels::KvType kv = kernels::KvType::kF16;
};

ModelConfig ConfigOf(const Kind& kind) {
  ModelConfig config = RandomModelConfig(kind.architecture);
  // Blocks of 32.
  if (kind.kv == kernels::KvType::kQ8_0) config.head_dim = config.rope.dims = 32;
  return config;
}

class StageTest : public testing::TestWithParam<Kind> {
 protected:
  StageTest()
      : model_(ConfigOf(GetParam()), GetParam().dtype, 17),
        whole_(model_.weights(), model_.config(), {5}, serial_, GetParam().kv),
        tokens_(Tokens(3, whole_.config())),
        want_(InChunks(whole_, tokens_, 1)) {}

  Serial serial_;
  RandomModel model_;
  Pipeline whole_;
  std::vector<std::int32_t> tokens_;
  std::vector<float> want_;
};

TEST_P(StageTest, GivesNumbers) {
  for (const float logit : want_) ASSERT_TRUE(std::isfinite(logit));
  const auto [least, most] = std::minmax_element(want_.begin(), want_.end());
  EXPECT_GT(*most - *least, 0.1F);
}

TEST_P(StageTest, ChunksGiveTheSameBits) {
  for (const std::size_t chunk : {7U, 64U, 150U}) {
    kernels::ExpectSameBits<float>(InChunks(whole_, tokens_, chunk), want_);
  }
}

TEST_P(StageTest, ThreadsGiveTheSameBits) {
  for (const std::size_t threads : {2U, 3U}) {
    TestThreads parallel(threads);
    Pipeline pipeline(model_.weights(), model_.config(), {5}, parallel, GetParam().kv);
    kernels::ExpectSameBits<float>(InChunks(pipeline, tokens_, 32), want_);
  }
}

TEST_P(StageTest, StagesGiveTheSameBits) {
  Pipeline two(model_.weights(), model_.config(), {2, 5}, serial_, GetParam().kv);
  kernels::ExpectSameBits<float>(InChunks(two, tokens_, 50), want_);
  Pipeline five(model_.weights(), model_.config(), {1, 2, 3, 4, 5}, serial_, GetParam().kv);
  kernels::ExpectSameBits<float>(InChunks(five, tokens_, 50), want_);
}

TEST_P(StageTest, OtherSequencesBesideItChangeNothing) {
  const std::vector<std::vector<std::int32_t>> tokens = {Tokens(5, whole_.config()), tokens_,
                                                         Tokens(6, whole_.config())};
  Pipeline::Sequence sequences[] = {whole_.Begin(), whole_.Begin(), whole_.Begin()};
  Pipeline::Sequence* const all[] = {&sequences[0], &sequences[1], &sequences[2]};
  const std::vector<float> logits = whole_.Run(all, tokens);
  kernels::ExpectSameBits<float>(std::span(logits).subspan(want_.size(), want_.size()), want_);
}

TEST_P(StageTest, ASharedBeginningGivesTheSameBits) {
  constexpr std::size_t kShared = 100;  // Within a page.
  Pipeline::Sequence first = whole_.Begin();
  Pipeline::Sequence* const one[] = {&first};
  const std::vector<std::int32_t> beginning(tokens_.begin(), tokens_.begin() + kShared + 20);
  whole_.Run(one, {&beginning, 1});
  Pipeline::Sequence second;
  second.parts.push_back(first.parts[0].Share(kShared));
  Pipeline::Sequence* const other[] = {&second};
  const std::vector<std::int32_t> rest(tokens_.begin() + kShared, tokens_.end());
  const std::vector<float> logits = whole_.Run(other, {&rest, 1});
  const std::size_t skipped = kShared * (want_.size() / kTokens);
  kernels::ExpectSameBits<float>(logits, std::span(want_).subspan(skipped));
  // What the first one wrote is still there.
  const std::vector<std::int32_t> more(tokens_.begin() + kShared + 20, tokens_.end());
  const std::vector<float> after = whole_.Run(one, {&more, 1});
  kernels::ExpectSameBits<float>(after, std::span(want_).last(after.size()));
}

INSTANTIATE_TEST_SUITE_P(Kinds, StageTest,
                         testing::Values(Kind{Architecture::kLlama, DType::kF32},
                                         Kind{Architecture::kLlama, DType::kF16},
                                         Kind{Architecture::kLlama, DType::kQ4_0},
                                         Kind{Architecture::kLlama, DType::kQ4_0,
                                              kernels::KvType::kQ8_0},
                                         Kind{Architecture::kQwen2, DType::kQ8_0},
                                         Kind{Architecture::kQwen3, DType::kQ4_0},
                                         Kind{Architecture::kQwen3Moe, DType::kQ8_0}));

TEST(KvCacheTest, IsFullWhenItIs) {
  KvCache cache({.layers = 1, .kv_heads = 1, .head_dim = 8}, 3);
  KvSequence a(cache);
  ASSERT_TRUE(a.Grow(100).ok());
  EXPECT_EQ(cache.pages_used(), 2U);
  KvSequence b(cache);
  EXPECT_EQ(b.Grow(65).code(), Code::kResourceExhausted);
  EXPECT_EQ(b.length(), 0U);
  EXPECT_EQ(cache.pages_used(), 2U);
  ASSERT_TRUE(b.Grow(64).ok());
  a.Shrink(64);
  EXPECT_EQ(cache.pages_used(), 2U);
  ASSERT_TRUE(b.Grow(65).ok());
}

TEST(KvCacheTest, WritingIntoASharedPageCopiesIt) {
  KvCache cache({.layers = 1, .kv_heads = 1, .head_dim = 4}, 8);
  KvSequence a(cache);
  ASSERT_TRUE(a.Grow(10).ok());
  a.Keys(0, 0, 9)[0] = std::byte{7};
  KvSequence b = a.Share(10);
  EXPECT_EQ(cache.pages_used(), 1U);
  EXPECT_EQ(b.Keys(0, 0, 9), a.Keys(0, 0, 9));
  ASSERT_TRUE(b.Grow(11).ok());
  EXPECT_EQ(cache.pages_used(), 2U);
  EXPECT_NE(b.Keys(0, 0, 9), a.Keys(0, 0, 9));
  EXPECT_EQ(b.Keys(0, 0, 9)[0], std::byte{7});
}

}  // namespace
}  // namespace shoal::llm
