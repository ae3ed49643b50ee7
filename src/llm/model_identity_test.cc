// The bits of whole models' logits, as hashes that never change: whatever the threads, the batch,
// the chunks of the prompt, the cut into stages, the instruction set, and whether guesses are
// tried. The phone build runs the mixed ones on ARM CPUs under qemu: what agrees with the same
// constant agrees with each other. A hash changes with the arithmetic (arithmetic_hash_test.cc,
// whose hashes say which part of it) or with the model's file.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "kernels/kernel_testing.h"
#include "kernels/target.h"
#include "llm/engine.h"
#include "llm/gguf.h"
#include "llm/gguf_model.h"
#include "llm/gguf_vocabulary.h"
#include "llm/model_config.h"
#include "llm/model_weights.h"
#include "llm/pipeline_testing.h"
#include "llm/tokenizer.h"
#include "os/mapped_file.h"

namespace shoal::llm {
namespace {

using kernels::ScopedBestTarget;
using kernels::SupportedTargets;
using kernels::Target;
using kernels::TestThreads;

constexpr std::size_t kTokens = 64;

struct Golden {
  const char* name;
  const char* path;
  const char* text;  // Of at least kTokens tokens.
  std::uint64_t logits;
  std::uint64_t generation;
};

// Ours, Q8_0.
constexpr Golden kBard = {
    "Bard", SHOAL_ZOO "/bard/bard-q8_0.gguf",
    "ROMEO:\nBut, soft! what light through yonder window breaks?\nIt is the east, and Juliet is "
    "the "
    "sun.\nArise, fair sun, and kill the envious moon,\nWho is already sick and pale with grief,\n"
    "That thou her maid art far more fair than she.\n",
    0xbf73d42bd0f2e91d, 0x34932db686443f7b};
// Published, F32; not part of this repository.
constexpr Golden kStories = {
    "Stories260K", SHOAL_SHARED_DATA "/llm/stories260K-f32.gguf",
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park. "
    "One day, she saw a big, red ball. She wanted to play with it, but it was too high for her to "
    "reach.",
    0x26583141838911d4, 0xdc771c238450b458};

void PrintTo(const Golden& golden, std::ostream* out) { *out << golden.name; }

// How the work is cut and who does it.
struct Way {
  Target target = kernels::BestTarget();
  std::size_t threads = 1;
  std::size_t batch = 1;  // Sequences beside each other.
  std::size_t chunk = kTokens;
  std::vector<std::int64_t> cuts = {5};
};

std::string Describe(const Way& way) {
  return std::string(TargetName(way.target)) + ", " + std::to_string(way.threads) + " threads, " +
         std::to_string(way.batch) + " sequences, chunks of " + std::to_string(way.chunk) + ", " +
         std::to_string(way.cuts.size()) + " stages";
}

// A file and what is in it.
struct OpenModel {
  os::MappedFile file;
  std::unique_ptr<GgufModel> gguf;
  ModelConfig config;
  ModelWeights weights;
};

Result<OpenModel> Open(const std::string& path) {
  SHOAL_ASSIGN_OR_RETURN(os::MappedFile file, os::MappedFile::Open(path));
  SHOAL_ASSIGN_OR_RETURN(GgufFile parsed, GgufFile::Parse(path, file.bytes()));
  std::vector<GgufFile> parts;
  parts.push_back(std::move(parsed));
  SHOAL_ASSIGN_OR_RETURN(GgufModel gguf, GgufModel::Make(std::move(parts)));
  SHOAL_ASSIGN_OR_RETURN(ModelConfig config, ReadModelConfig(gguf));
  ModelWeights weights = WeightsOf(gguf);
  return OpenModel{std::move(file), std::make_unique<GgufModel>(std::move(gguf)), std::move(config),
                   std::move(weights)};
}

// The tokens of another sequence: as likely as ours and at every position different.
std::vector<std::int32_t> Rotated(std::vector<std::int32_t> tokens, std::size_t by) {
  std::rotate(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(by % tokens.size()),
              tokens.end());
  return tokens;
}

// The logits after each of `tokens`, which are the middle one of way.batch sequences.
std::vector<float> Logits(const OpenModel& model, const std::vector<std::int32_t>& tokens,
                          const Way& way) {
  const ScopedBestTarget scope(way.target);
  TestThreads threads(way.threads);
  Pipeline pipeline(model.weights, model.config, way.cuts, threads);
  const std::size_t ours = way.batch / 2;
  std::vector<Pipeline::Sequence> sequences(way.batch);
  std::vector<Pipeline::Sequence*> pointers;
  std::vector<std::vector<std::int32_t>> texts;
  for (std::size_t i = 0; i < way.batch; ++i) {
    sequences[i] = pipeline.Begin();
    pointers.push_back(&sequences[i]);
    texts.push_back(Rotated(tokens, way.batch + i - ours));
  }
  texts[ours] = tokens;
  const auto vocab = static_cast<std::size_t>(pipeline.config().vocab);
  std::vector<float> logits;
  for (std::size_t at = 0; at < tokens.size(); at += way.chunk) {
    const std::size_t count = std::min(way.chunk, tokens.size() - at);
    std::vector<std::vector<std::int32_t>> parts;
    for (const auto& text : texts) {
      const auto begin = text.begin() + static_cast<std::ptrdiff_t>(at);
      parts.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(count));
    }
    const std::vector<float> all = pipeline.Run(pointers, parts);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(ours * count * vocab);
    logits.insert(logits.end(), begin, begin + static_cast<std::ptrdiff_t>(count * vocab));
  }
  return logits;
}

class ModelIdentityTest : public testing::TestWithParam<Golden> {
 protected:
  void SetUp() override {
    auto model = Open(GetParam().path);
    if (!model.ok() && model.status().code() == Code::kNotFound) {
      GTEST_SKIP() << GetParam().path << " is not here";
    }
    ASSERT_TRUE(model.ok()) << model.status().ToString();
    model_.emplace(*std::move(model));
    const auto tokenizer = Tokenizer::Create(*ReadGgufVocabulary(model_->gguf->metadata()));
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().ToString();
    tokens_ = tokenizer->Encode(GetParam().text, {.add_ends = true});
    ASSERT_GE(tokens_.size(), kTokens);
    tokens_.resize(kTokens);
  }

  void Expect(const Way& way) {
    Fingerprint hash;
    for (const float logit : Logits(*model_, tokens_, way)) {
      hash.Add(std::bit_cast<std::uint32_t>(logit));
    }
    EXPECT_EQ(hash.value(), GetParam().logits)
        << Describe(way) << ": 0x" << std::hex << hash.value();
  }

  // Tokens that are drawn, and what the model thought of all others.
  std::uint64_t Generate(const SamplingOptions& options, std::size_t guesses, std::size_t chunk) {
    Serial serial;
    const auto engine =
        Engine::Load(model_->weights, model_->config, {.context = 0, .chunk = chunk}, serial);
    EXPECT_TRUE(engine.ok()) << engine.status().ToString();
    Generation generation(**engine, options, guesses);
    generation.Append(tokens_);
    Fingerprint hash;
    for (std::size_t i = 0; i < kTokens; ++i) {
      const auto next = generation.Next();
      EXPECT_TRUE(next.ok()) << next.status().ToString();
      hash.Add(static_cast<std::uint32_t>(next->token));
      for (const TokenLogprob& other : next->top) {
        hash.Add(static_cast<std::uint32_t>(other.token));
        hash.Add(std::bit_cast<std::uint32_t>(other.logprob));
      }
    }
    return hash.value();
  }

  std::optional<OpenModel> model_;
  std::vector<std::int32_t> tokens_;
};

TEST_P(ModelIdentityTest, Threads) {
  for (const std::size_t threads : {1U, 2U, 3U}) Expect({.threads = threads});
}

TEST_P(ModelIdentityTest, Batches) {
  for (const std::size_t batch : {1U, 7U, 32U}) Expect({.batch = batch, .chunk = 1});
}

TEST_P(ModelIdentityTest, Chunks) {
  for (const std::size_t chunk : {1U, 16U, 512U}) Expect({.chunk = chunk});
}

TEST_P(ModelIdentityTest, Stages) {
  Expect({.cuts = {2, 5}});
  Expect({.cuts = {1, 2, 3, 4, 5}});
}

TEST_P(ModelIdentityTest, Targets) {
  for (const Target target : SupportedTargets()) {
    Expect({.target = target});
    Expect({.target = target, .chunk = 1});
  }
}

// Those that the phone build runs on several CPUs.
TEST_P(ModelIdentityTest, Mixed) {
  const Target best = SupportedTargets().front();
  Expect({});
  Expect({.target = best, .threads = 2, .batch = 7, .chunk = 16, .cuts = {3, 5}});
  Expect({.target = best, .threads = 3, .batch = 1, .chunk = 5, .cuts = {1, 2, 3, 4, 5}});
  Expect({.target = best, .threads = 1, .batch = 4, .chunk = 1, .cuts = {5}});
  Expect({.target = Target::kRef, .threads = 2, .batch = 1, .chunk = 64, .cuts = {1, 5}});
  Expect({.target = Target::kRef, .threads = 1, .batch = 3, .chunk = 9, .cuts = {4, 5}});
}

TEST_P(ModelIdentityTest, MixedGuesses) {
  SamplingOptions options;
  options.seed = 7;
  options.top_logprobs = std::size_t{1} << 20;  // All.
  for (const std::size_t guesses : {0U, 4U, 16U}) {
    const std::uint64_t hash = Generate(options, guesses, guesses + 1);
    EXPECT_EQ(hash, GetParam().generation) << guesses << " guesses: 0x" << std::hex << hash;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, ModelIdentityTest, testing::Values(kBard, kStories),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace shoal::llm
