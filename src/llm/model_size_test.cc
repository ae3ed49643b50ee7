#include "llm/model_size.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "kernels/packed_weights.h"
#include "llm/random_model_testing.h"

namespace shoal::llm {
namespace {

TEST(ModelSizeTest, CountsLayersAndHead) {
  const ModelConfig config = SmallConfig(Architecture::kLlama);
  GgufWriter writer = ConfigKeys(config);
  AddTensors(config, writer);
  const std::string bytes = WithZeroTensors(writer, writer.TensorCount());
  const auto model = ModelOf(bytes);
  ASSERT_TRUE(model.ok());
  const ModelSize size = MeasureModel(WeightsOf(*model), config);
  // Attention 64x64, 2 x 32x64, 64x64; three matrices of 96x64; two norms.
  const std::uint64_t layer = 2 * 64 * 64 + 2 * 32 * 64 + 3 * 96 * 64 + 2 * 64;
  EXPECT_EQ(size.layer_bytes, (std::vector<std::uint64_t>{4 * layer, 4 * layer}));
  EXPECT_EQ(size.head_bytes, 4U * (2 * 10 * 64 + 64));
  EXPECT_EQ(size.bytes, 4 * size.parameters);
  EXPECT_EQ(size.by_type.at(DType::kF32).bytes, size.bytes);
}

// What the matrices of the model and the KV cache are made of.
TEST(ModelSizeTest, LoadedBytesAreThoseOfPackedMatrices) {
  for (const Architecture architecture : {Architecture::kLlama, Architecture::kQwen3Moe}) {
    const RandomModel model(RandomModelConfig(architecture), DType::kQ8_0, 1);
    std::uint64_t want = 0;
    Serial serial;
    for (const auto& [name, tensor] : model.weights().tensors()) {
      const Shape& shape = tensor.shape;
      if (shape.rank() == 1) want += 4 * static_cast<std::uint64_t>(shape[0]);
      if (shape.rank() == 1 || name == "token_embd.weight") continue;
      const std::size_t experts = shape.rank() == 3 ? static_cast<std::size_t>(shape[0]) : 1;
      const auto packed = kernels::PackedWeights::Make(
          tensor.dtype, tensor.bytes.first(tensor.bytes.size() / experts),
          static_cast<std::size_t>(shape[shape.rank() - 2]),
          static_cast<std::size_t>(shape[shape.rank() - 1]), serial);
      want += experts * packed->data().size();
    }
    EXPECT_EQ(LoadedBytes(model.weights(), model.config()), want);
  }
  ModelConfig config = RandomModelConfig(Architecture::kQwen3);
  const RandomModel floats(config, DType::kF16, 1);
  // Norms: 5 layers of 2 x 64 + 2 x 16, and the last.
  EXPECT_EQ(LoadedBytes(floats.weights(), floats.config()), 4U * (5 * (2 * 64 + 2 * 16) + 64));
  const std::uint64_t separate =
      LoadedBytes(RandomModel(config, DType::kQ8_0, 1).weights(), config);
  config.tied_embeddings = true;
  EXPECT_EQ(LoadedBytes(RandomModel(config, DType::kQ8_0, 1).weights(), config), separate);
}

TEST(ModelSizeTest, ARowCostsOneMultiplyAddForEachWeightItNeeds) {
  ModelConfig config;
  config.dim = 64;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 16;
  config.ff_dim = 100;
  const double attention = 2 * 64 * 64 + 2 * 64 * 32;
  EXPECT_EQ(MeasureRow(config).multiply_adds, attention + 3 * 64 * 100);
  EXPECT_EQ(MeasureRow(config).share, 1);
  config.experts = 8;
  config.experts_used = 2;
  config.expert_ff_dim = 50;
  const double shared = attention + 64 * 8;
  EXPECT_EQ(MeasureRow(config).multiply_adds, shared + 2 * 3 * 64 * 50);
  EXPECT_DOUBLE_EQ(MeasureRow(config).share,
                   (shared + 2 * 3 * 64 * 50) / (shared + 8 * 3 * 64 * 50));
}

TEST(ModelSizeTest, PhonesHoldWholeLayers) {
  ModelConfig config = SmallConfig(Architecture::kLlama);
  config.layers = 5;
  const std::int64_t kv_of_layer = 2 * 32 * 2;  // Per token.
  ModelSize size;
  size.layer_bytes = {100, 100, 100, 100, 100};
  EXPECT_EQ(CountPhones(size, config, {.memory = 500}), 1U);
  EXPECT_EQ(CountPhones(size, config, {.memory = 499}), 2U);
  EXPECT_EQ(CountPhones(size, config, {.memory = 250}), 3U);
  EXPECT_EQ(CountPhones(size, config, {.memory = 100}), 5U);
  EXPECT_EQ(CountPhones(size, config, {.memory = 99}), std::nullopt);
  const auto with_kv = static_cast<std::uint64_t>(100 + 10 * kv_of_layer);
  EXPECT_EQ(CountPhones(size, config, {.memory = with_kv, .context = 10}), 5U);
  EXPECT_EQ(CountPhones(size, config, {.memory = 5 * with_kv, .context = 10}), 1U);
}

}  // namespace
}  // namespace shoal::llm
