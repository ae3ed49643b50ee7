#include "llm/quantize_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "llm/model_testing.h"

namespace shoal::llm {
namespace {

// A model of 16 layers whose rows are whole blocks of the K types.
ModelConfig Config(std::int64_t dim = 256) {
  ModelConfig config = SmallConfig(Architecture::kLlama);
  config.layers = 16;
  config.dim = dim;
  config.heads = 4;
  config.head_dim = dim / 4;
  config.ff_dim = 512;
  return config;
}

// What `mixture` does to a model of `config` in which every matrix is of type `from`.
std::map<std::string, DType> Plan(const ModelConfig& config, std::string_view mixture,
                                  DType from = DType::kF16) {
  GgufWriter writer = ConfigKeys(config);
  for (const TensorSpec& spec : TensorsOf(config)) {
    writer.AddTensor(spec.name, spec.shape.rank() < 2 ? DType::kF32 : from, spec.shape);
  }
  const std::string bytes = WithZeroTensors(writer, writer.TensorCount());
  const auto model = ModelOf(bytes);
  EXPECT_TRUE(model.ok()) << model.status().ToString();
  const auto plan = PlanQuantization(*model, config, *FindMixture(mixture));
  std::map<std::string, DType> types;
  if (!plan.ok()) return types;
  for (const PlannedTensor& planned : *plan) {
    types[std::string(planned.tensor->name)] = planned.dtype;
  }
  return types;
}

TEST(QuantizePlanTest, NamesOfMixtures) {
  EXPECT_EQ(FindMixture("q4_k_m")->name, "Q4_K_M");
  EXPECT_EQ(
      FindMixture("Q9").status().message(),
      "no type of file is called \"Q9\"; there are F16, BF16, Q8_0, Q6_K, Q5_K_M, Q5_1, Q5_0, "
      "Q4_K_M, Q4_1, Q4_0");
}

TEST(QuantizePlanTest, Q4KMGivesSixBitsWhereTheyCount) {
  const auto types = Plan(Config(), "Q4_K_M");
  EXPECT_EQ(types.at("token_embd.weight"), DType::kQ4_K);
  EXPECT_EQ(types.at("output.weight"), DType::kQ6_K);
  EXPECT_EQ(types.at("output_norm.weight"), DType::kF32);
  EXPECT_EQ(types.at("blk.0.attn_q.weight"), DType::kQ4_K);
  // Of 16 layers the first two and last two, and 4, 7, 10, 13.
  for (std::int64_t layer = 0; layer < 16; ++layer) {
    const bool more = layer < 2 || layer >= 14 || layer % 3 == 1;
    const DType wanted = more ? DType::kQ6_K : DType::kQ4_K;
    EXPECT_EQ(types.at(LayerTensor(layer, "attn_v.weight")), wanted) << layer;
    EXPECT_EQ(types.at(LayerTensor(layer, "ffn_down.weight")), wanted) << layer;
    EXPECT_EQ(types.at(LayerTensor(layer, "ffn_up.weight")), DType::kQ4_K) << layer;
  }
}

TEST(QuantizePlanTest, ASharedEmbeddingCountsAsOutput) {
  ModelConfig config = Config();
  config.tied_embeddings = true;
  EXPECT_EQ(Plan(config, "Q4_K_M").at("token_embd.weight"), DType::kQ6_K);
  EXPECT_EQ(Plan(config, "Q4_0").at("token_embd.weight"), DType::kQ6_K);
  EXPECT_EQ(Plan(config, "Q8_0").at("token_embd.weight"), DType::kQ8_0);
}

TEST(QuantizePlanTest, RowsThatAreNoLargeBlocksGetSmallOnes) {
  const auto types = Plan(Config(64), "Q4_K_M");
  EXPECT_EQ(types.at("token_embd.weight"), DType::kQ5_0);
  EXPECT_EQ(types.at("output.weight"), DType::kQ8_0);
  EXPECT_EQ(types.at("blk.0.ffn_down.weight"), DType::kQ6_K);  // Its rows are 512.
}

TEST(QuantizePlanTest, RoutersStay) {
  ModelConfig config = Config();
  config.experts = 4;
  config.experts_used = 2;
  config.expert_ff_dim = 512;
  const auto types = Plan(config, "Q4_0");
  EXPECT_EQ(types.at("blk.0.ffn_gate_inp.weight"), DType::kF16);
  EXPECT_EQ(types.at("blk.0.ffn_gate_exps.weight"), DType::kQ4_0);
}

TEST(QuantizePlanTest, BitsDoNotComeBack) {
  EXPECT_TRUE(Plan(Config(), "Q8_0", DType::kQ4_0).empty());
  EXPECT_TRUE(Plan(Config(), "Q4_0", DType::kQ4_0).empty());
  EXPECT_TRUE(Plan(Config(), "F16", DType::kQ8_0).empty());
  EXPECT_EQ(Plan(Config(), "Q4_0", DType::kQ8_0).at("blk.0.attn_q.weight"), DType::kQ4_0);
}

TEST(QuantizePlanTest, HeaderKeepsWhatIsStillTrue) {
  const ModelConfig config = Config();
  GgufWriter writer = ConfigKeys(config);
  writer.SetUnsigned("general.file_type", 1);
  writer.SetUnsigned("split.count", 1);
  for (const TensorSpec& spec : TensorsOf(config)) {
    writer.AddTensor(spec.name, DType::kF32, spec.shape);
  }
  const std::string bytes = WithZeroTensors(writer, writer.TensorCount());
  const auto model = ModelOf(bytes);
  ASSERT_TRUE(model.ok());
  const Mixture mixture = *FindMixture("Q4_K_M");
  const auto plan = PlanQuantization(*model, config, mixture);
  ASSERT_TRUE(plan.ok());
  const GgufWriter header = QuantizedHeader(*model, mixture, *plan);
  const std::string again = WithZeroTensors(header, header.TensorCount());
  const auto quantized = ModelOf(again);
  ASSERT_TRUE(quantized.ok()) << quantized.status().ToString();
  EXPECT_TRUE(ReadModelConfig(*quantized).ok());
  EXPECT_EQ(*quantized->metadata().GetUnsigned("general.file_type"), 15U);
  EXPECT_FALSE(quantized->metadata().Has("split.count"));
}

}  // namespace
}  // namespace shoal::llm
