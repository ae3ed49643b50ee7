// Checkpoints of Hugging Face that others have made. They are not part of this repository: without
// them the tests are skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "llm/engine.h"
#include "llm/gguf.h"
#include "llm/gguf_vocabulary.h"
#include "llm/hf_model.h"
#include "llm/sentencepiece_model.h"
#include "os/file.h"
#include "os/mapped_file.h"

namespace shoal::llm {
namespace {

const std::string kFolder = std::string(SHOAL_SHARED_DATA) + "/llm/";

// The logits after some tokens; none if the model is not here.
std::vector<float> Logits(const ModelWeights& weights, const ModelConfig& config) {
  Serial serial;
  const auto engine = Engine::Load(weights, config, {}, serial);
  if (!engine.ok()) ADD_FAILURE() << engine.status().ToString();
  KvSequence sequence = (*engine)->NewSequence();
  const std::vector<std::int32_t> tokens = {1, 9038, 2501, 263, 931, 29892, 727, 471};
  const auto logits = (*engine)->Feed(sequence, tokens, 1);
  return {logits->begin(), logits->end()};
}

std::vector<float> HfLogits(const std::string& name) {
  const auto text = os::ReadFile(kFolder + name + "/config.json", kMaxHfConfigBytes);
  const auto mapping = os::MappedFile::Open(kFolder + name + "/model.safetensors");
  if (!text.ok() || !mapping.ok()) return {};
  const auto config = ReadHfConfig("config.json", *text, "");
  const std::vector<SafetensorsFile> files = {*SafetensorsFile::Parse(name, mapping->bytes())};
  const auto model = MakeHfModel(name, *config, files);
  if (!model.ok()) ADD_FAILURE() << model.status().ToString();
  return Logits(model->weights, model->config);
}

std::vector<float> GgufLogits(const std::string& name) {
  const auto mapping = os::MappedFile::Open(kFolder + name);
  if (!mapping.ok()) return {};
  const auto model = GgufModel::Make({*GgufFile::Parse(name, mapping->bytes())});
  return Logits(WeightsOf(*model), *ReadModelConfig(*model));
}

float RmsDifference(const std::vector<float>& a, const std::vector<float>& b) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum / static_cast<float>(a.size()));
}

// The folder has q and k as they were trained, the GGUF file with rows in another order.
TEST(HfRealFiles, FloatsAsTheGgufFile) {
  const std::vector<float> hf = HfLogits("stories15M-hf-f16");
  const std::vector<float> gguf = GgufLogits("stories15M-q8_0.gguf");
  if (hf.empty() || gguf.empty()) GTEST_SKIP() << "stories15M is not here";
  ASSERT_EQ(hf.size(), gguf.size());
  EXPECT_LT(RmsDifference(hf, gguf), 0.1F);
}

// Both have the same integers.
TEST(HfRealFiles, GptqAndAwqAreTheSame) {
  const std::vector<float> hf = HfLogits("stories15M-hf-f16");
  const std::vector<float> gptq = HfLogits("stories15M-gptq-int4-g32");
  const std::vector<float> awq = HfLogits("stories15M-awq-int4-g32");
  if (hf.empty() || gptq.empty() || awq.empty()) GTEST_SKIP() << "stories15M is not here";
  EXPECT_EQ(gptq, awq);
  ASSERT_EQ(hf.size(), gptq.size());
  EXPECT_LT(RmsDifference(hf, gptq), 1.0F);
}

TEST(HfRealFiles, SentencePieces) {
  const auto spm = os::MappedFile::Open(kFolder + "stories15M-hf-f16/tokenizer.model");
  const auto gguf = os::MappedFile::Open(kFolder + "stories15M-q8_0.gguf");
  if (!spm.ok() || !gguf.ok()) GTEST_SKIP() << "stories15M is not here";
  const auto vocabulary = ReadSentencePieceModel("tokenizer.model", spm->bytes(), "");
  ASSERT_TRUE(vocabulary.ok()) << vocabulary.status().ToString();
  const auto file = GgufFile::Parse("gguf", gguf->bytes());
  const auto want = ReadGgufVocabulary(file->metadata());
  ASSERT_TRUE(want.ok()) << want.status().ToString();
  EXPECT_EQ(vocabulary->tokens, want->tokens);
  EXPECT_EQ(vocabulary->scores, want->scores);
  EXPECT_EQ(vocabulary->bos, want->bos);
  EXPECT_EQ(vocabulary->eos, want->eos);
}

}  // namespace
}  // namespace shoal::llm
