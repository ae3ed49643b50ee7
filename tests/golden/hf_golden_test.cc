// Goal: GPTQ and AWQ checkpoints mean what their formats say (scripts/golden/make_hf.py packed
// them and computed their logits with numpy).
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "llm/engine.h"
#include "llm/hf_model.h"
#include "llm/int4_testing.h"
#include "os/file.h"
#include "os/mapped_file.h"

namespace shoal::golden {
namespace {

using llm::Engine;
using llm::HfModel;

// A model in the folder of its name, with its mapping.
struct Opened {
  std::unique_ptr<os::MappedFile> mapping;
  HfModel model;
};

Opened Open(const std::string& name) {
  const std::string folder = std::string(SHOAL_GOLDEN "/hf/") + name;
  const auto text = os::ReadFile(folder + "/config.json", llm::kMaxHfConfigBytes);
  const auto config = llm::ReadHfConfig("config.json", *text, "");
  Opened opened;
  opened.mapping =
      std::make_unique<os::MappedFile>(*os::MappedFile::Open(folder + "/model.safetensors"));
  const std::vector<llm::SafetensorsFile> files = {
      *llm::SafetensorsFile::Parse(name, opened.mapping->bytes())};
  auto model = llm::MakeHfModel(name, *config, files);
  if (!model.ok()) ADD_FAILURE() << model.status().ToString();
  opened.model = *std::move(model);
  return opened;
}

// The same model with every matrix of integers as the floats that its blocks stand for, in the
// order of the inputs.
struct Floats {
  llm::ModelWeights weights;
  std::vector<std::vector<float>> numbers;
};

Floats AsFloats(const llm::ModelWeights& weights) {
  Serial serial;
  Floats floats{llm::ModelWeights(weights.name()), {}};
  for (const auto& [name, tensor] : weights.tensors()) {
    if (!tensor.int4) {
      EXPECT_TRUE(floats.weights.Add(name, tensor).ok());
      continue;
    }
    const auto blocks = llm::MakeBlocks(name, *tensor.int4, serial);
    const auto k = static_cast<std::size_t>(tensor.shape[1]);
    const std::vector<float> sorted = llm::WeightsOf(*blocks);
    std::vector<float>& out = floats.numbers.emplace_back(sorted);
    for (std::size_t i = 0; i < sorted.size() && !blocks->order.empty(); ++i) {
      out[i / k * k + blocks->order[i % k]] = sorted[i];
    }
    EXPECT_TRUE(floats.weights
                    .Add(name, {.dtype = DType::kF32,
                                .shape = tensor.shape,
                                .bytes = std::as_bytes(std::span<const float>(out))})
                    .ok());
  }
  return floats;
}

std::vector<float> Logits(const llm::ModelWeights& weights, const llm::ModelConfig& config,
                          const std::vector<std::int32_t>& tokens, std::size_t chunk) {
  Serial serial;
  const auto engine = Engine::Load(weights, config, {.chunk = chunk}, serial);
  if (!engine.ok()) ADD_FAILURE() << engine.status().ToString();
  llm::KvSequence sequence = (*engine)->NewSequence();
  const auto logits = (*engine)->Feed(sequence, tokens, tokens.size());
  return {logits->begin(), logits->end()};
}

float LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

class HfGoldenTest : public testing::TestWithParam<const char*> {
 protected:
  HfGoldenTest() {
    std::ifstream file(SHOAL_GOLDEN "/hf/logits.json");
    const nlohmann::json golden = nlohmann::json::parse(file);
    tokens_ = golden["tokens"].get<std::vector<std::int32_t>>();
    want_ = golden["models"][GetParam()].get<std::vector<float>>();
    opened_ = Open(GetParam());
  }

  std::vector<std::int32_t> tokens_;
  std::vector<float> want_;
  Opened opened_;
};

// Weights are exact; the residual stream is rounded to F16 at every layer.
TEST_P(HfGoldenTest, UnpackedWeightsGiveTheLogits) {
  const Floats floats = AsFloats(opened_.model.weights);
  EXPECT_EQ(floats.numbers.size(), 7U);
  const auto logits = Logits(floats.weights, opened_.model.config, tokens_, 256);
  ASSERT_EQ(logits.size(), want_.size());
  const float difference = LargestDifference(logits, want_);
  RecordProperty("difference", std::to_string(difference));
  const bool symmetric = std::string(GetParam()).find("sym") != std::string::npos;
  EXPECT_LT(difference, 2e-4F);
  const auto& q = opened_.model.weights.tensors().at("blk.0.attn_q.weight");
  EXPECT_EQ(q.dtype, symmetric ? DType::kQ4_0 : DType::kQ4_1);
}

// Activations are rounded to 8 bits, so logits are only near; but the same however a prompt is cut,
// also where inputs are gathered.
TEST_P(HfGoldenTest, IntegersAreNear) {
  const HfModel& model = opened_.model;
  const auto logits = Logits(model.weights, model.config, tokens_, 256);
  ASSERT_EQ(logits.size(), want_.size());
  EXPECT_LT(LargestDifference(logits, want_), 0.15F);
  EXPECT_EQ(Logits(model.weights, model.config, tokens_, 1), logits);
  EXPECT_EQ(Logits(model.weights, model.config, tokens_, 3), logits);
}

INSTANTIATE_TEST_SUITE_P(All, HfGoldenTest,
                         testing::Values("gptq_g32_sym", "gptq_g128", "gptq_g32_act",
                                         "gptq_g128_act_v2", "gptq_all_sym_v2", "awq_g32",
                                         "awq_g128"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace shoal::golden
