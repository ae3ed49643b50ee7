#include "llm/layer_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/hash.h"
#include "kernels/kernel_testing.h"
#include "kernels/quant_testing.h"
#include "llm/random_model_testing.h"
#include "llm/stage.h"
#include "tensor/aligned_buffer.h"

namespace shoal::llm {
namespace {

std::string Written(const Layer& layer, const ModelConfig& config) {
  std::string bytes;
  const Status written = WriteLayer(layer, config, [&](std::span<const std::byte> part) -> Status {
    bytes.append(reinterpret_cast<const char*>(part.data()), part.size());
    return {};
  });
  EXPECT_TRUE(written.ok());
  EXPECT_EQ(bytes.size(), LayerFileBytes(layer, config));
  return bytes;
}

// Bytes as a mapping has them: at a multiple of 64.
AlignedBuffer Mapped(std::string_view bytes) {
  AlignedBuffer buffer = *AlignedBuffer::Make(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return buffer;
}

// What a stage of this layer makes of some rows.
std::vector<std::uint16_t> Compute(Layer layer, const ModelConfig& config) {
  constexpr std::size_t kRows = 5;
  std::vector<std::shared_ptr<const Layer>> layers;
  layers.push_back(std::make_shared<const Layer>(std::move(layer)));
  Stage stage = *Stage::Make(std::move(layers), config);
  KvCache cache(stage.kv_shape(), 1);
  KvSequence sequence(cache);
  EXPECT_TRUE(sequence.Grow(kRows).ok());
  Random random(3);
  std::vector<std::uint16_t> residual(kRows * static_cast<std::size_t>(config.dim));
  for (std::uint16_t& number : residual) {
    number = kernels::F16FromFloat(static_cast<float>(random.Between(-100, 100)) / 64.0F);
  }
  std::vector<StageRow> rows;
  for (std::size_t p = 0; p < kRows; ++p) rows.push_back({&sequence, p});
  Serial serial;
  stage.Forward(residual, rows, serial);
  return residual;
}

void ExpectSameAfterwards(Layer layer, const ModelConfig& config) {
  const std::string bytes = Written(layer, config);
  const AlignedBuffer file = Mapped(bytes);
  Result<Layer> read = ReadLayer("f", file.bytes(), config);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(Written(*read, config), bytes);
  // Not copied.
  if (read->q.packed() != nullptr) {
    EXPECT_GE(read->q.packed()->data().data(), file.data());
    EXPECT_LT(read->q.packed()->data().data(), file.data() + file.size());
  }
  const std::vector<std::uint16_t> want = Compute(std::move(layer), config);
  for (const std::uint16_t bits : want) ASSERT_LT(bits & 0x7fffU, 0x7c00U);  // Finite.
  EXPECT_EQ(Compute(*std::move(read), config), want);
}

ModelConfig OneLayer(Architecture architecture) {
  ModelConfig config = RandomModelConfig(architecture);
  config.layers = 1;
  return config;
}

TEST(LayerFileTest, ComputesTheSameBits) {
  Serial serial;
  for (const Architecture architecture : {Architecture::kLlama, Architecture::kQwen2,
                                          Architecture::kQwen3, Architecture::kQwen3Moe}) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kQ4_0, DType::kQ8_0}) {
      const RandomModel model(OneLayer(architecture), dtype, 17);
      ExpectSameAfterwards(*LoadLayer(model.weights(), model.config(), 0, serial), model.config());
    }
  }
}

// A layer with matrices that `make` gives, for rows and inputs of multiples of 256.
template <class MakeMatrix>
Layer LargeLayer(const ModelConfig& config, const MakeMatrix& make) {
  const auto dim = static_cast<std::size_t>(config.dim);
  const auto kv_dim = static_cast<std::size_t>(config.kv_dim());
  const auto ff_dim = static_cast<std::size_t>(config.ff_dim);
  Layer layer;
  layer.attention_norm = layer.ffn_norm = std::vector<float>(dim, 0x1p-16F);
  layer.q = make(dim, dim);
  layer.k = make(kv_dim, dim);
  layer.v = make(kv_dim, dim);
  layer.output = make(dim, dim);
  layer.experts.resize(1);
  layer.experts[0].gate = make(ff_dim, dim);
  layer.experts[0].up = make(ff_dim, dim);
  layer.experts[0].down = make(dim, ff_dim);
  return layer;
}

ModelConfig LargeConfig() {
  ModelConfig config = OneLayer(Architecture::kLlama);
  config.dim = 256;
  config.head_dim = 64;
  config.ff_dim = 512;
  config.rope.dims = 64;
  return config;
}

TEST(LayerFileTest, EveryTypeOfWeights) {
  Serial serial;
  const ModelConfig config = LargeConfig();
  for (const DType dtype : kernels::kPackedTypes) {
    ExpectSameAfterwards(LargeLayer(config,
                                    [&](std::size_t rows, std::size_t k) {
                                      return *Matrix::Make(
                                          "m", dtype, kernels::RandomBlocks(dtype, rows * k, k),
                                          rows, k, serial);
                                    }),
                         config);
  }
  const std::vector<std::byte> bf16(512 * 512 * 2, std::byte{0x3c});
  ExpectSameAfterwards(LargeLayer(config,
                                  [&](std::size_t rows, std::size_t k) {
                                    return *Matrix::Make("m", DType::kBF16,
                                                         std::span(bf16).first(rows * k * 2), rows,
                                                         k, serial);
                                  }),
                       config);
}

// As GPTQ has them with desc_act.
Layer LayerWithZerosInAnotherOrder(const ModelConfig& config) {
  Serial serial;
  return LargeLayer(config, [&](std::size_t rows, std::size_t k) {
    Matrix matrix(*kernels::PackedWeights::MakeWithZeros(
        kernels::RandomBlocksWithZeros(rows * k, rows), rows, k, serial));
    std::vector<std::uint32_t> order(k);
    std::iota(order.begin(), order.end(), 0U);
    Random random(rows);
    for (std::size_t i = k; i > 1; --i) std::swap(order[i - 1], order[random.Bits() % i]);
    matrix.SetInputOrder(std::move(order));
    return matrix;
  });
}

TEST(LayerFileTest, ZerosAndInputsInAnotherOrder) {
  ExpectSameAfterwards(LayerWithZerosInAnotherOrder(LargeConfig()), LargeConfig());
}

// Other bytes: kPackedRevision or the version of the file must change.
TEST(LayerFileTest, BytesAreTheSameOnEveryCpu) {
  Serial serial;
  Fingerprint hash;
  const auto add = [&](const Layer& layer, const ModelConfig& config) {
    const std::string bytes = Written(layer, config);
    hash.AddBytes(std::as_bytes(std::span<const char>(bytes)));
  };
  const ModelConfig config = LargeConfig();
  for (const DType dtype : kernels::kPackedTypes) {
    add(LargeLayer(config,
                   [&](std::size_t rows, std::size_t k) {
                     return *Matrix::Make("m", dtype, kernels::RandomBlocks(dtype, rows * k, k),
                                          rows, k, serial);
                   }),
        config);
  }
  add(LayerWithZerosInAnotherOrder(config), config);
  EXPECT_EQ(hash.value(), 0x7335e03b4cd957b8U) << std::hex << hash.value();
}

TEST(LayerFileTest, FilesThatEndEarlyAreRefused) {
  Serial serial;
  const RandomModel model(OneLayer(Architecture::kQwen3), DType::kQ8_0, 17);
  const ModelConfig& config = model.config();
  const std::string bytes = Written(*LoadLayer(model.weights(), config, 0, serial), config);
  for (std::size_t size = 0; size < bytes.size(); size += size < 1000 ? 1 : 97) {
    const AlignedBuffer file = Mapped(std::string_view(bytes).substr(0, size));
    EXPECT_EQ(ReadLayer("f", file.bytes(), config).status().code(), Code::kCorruption) << size;
  }
  const AlignedBuffer longer = Mapped(bytes + "x");
  EXPECT_EQ(ReadLayer("f", longer.bytes(), config).status().code(), Code::kCorruption);
}

TEST(LayerFileTest, DamagedFilesAreRefusedOrHarmless) {
  const ModelConfig config = LargeConfig();
  const std::string bytes = Written(LayerWithZerosInAnotherOrder(config), config);
  // 9 records.
  constexpr std::size_t kDataBegin = 24 + 9 * 48;
  std::size_t refused = 0;
  for (std::size_t at = 0; at < kDataBegin; ++at) {
    for (const unsigned flip : {0x01U, 0x80U, 0xffU}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ flip);
      const AlignedBuffer file = Mapped(damaged);
      Result<Layer> read = ReadLayer("f", file.bytes(), config);
      if (read.ok()) {
        Compute(*std::move(read), config);
        continue;
      }
      ++refused;
      EXPECT_EQ(read.status().code(), Code::kCorruption);
      EXPECT_TRUE(read.status().message().starts_with("f: "));
    }
  }
  // All but what is reserved, and forms and units of the same size.
  EXPECT_GT(refused, 3 * kDataBegin * 9 / 10);
  Random random(5);
  for (int i = 0; i < 20; ++i) {
    std::string damaged = bytes;
    for (int j = 0; j < 100; ++j) {
      damaged[kDataBegin + random.Bits() % (bytes.size() - kDataBegin)] =
          static_cast<char>(random.Bits());
    }
    const AlignedBuffer file = Mapped(damaged);
    Result<Layer> read = ReadLayer("f", file.bytes(), config);
    if (read.ok()) Compute(*std::move(read), config);
  }
}

TEST(LayerFileTest, SaysWhatIsWrong) {
  const ModelConfig config = LargeConfig();
  const std::string bytes = Written(LayerWithZerosInAnotherOrder(config), config);
  const auto message = [&](std::size_t at, char value) {
    std::string damaged = bytes;
    damaged[at] = value;
    const AlignedBuffer file = Mapped(damaged);
    return std::string(ReadLayer("f", file.bytes(), config).status().message());
  };
  constexpr std::size_t kOfQ = 24 + 48;
  EXPECT_EQ(message(0, 'X'), "f: is not a layer file");
  EXPECT_EQ(message(4, 9), "f: version is 9; wanted 1");
  EXPECT_EQ(message(8, 9), "f: revision of packed weights is 9; wanted 1");
  EXPECT_EQ(message(12, 8), "f: number of records is 8; wanted 9");
  EXPECT_EQ(message(kOfQ, 3), "f: q: type is 3; wanted 2");
  EXPECT_EQ(message(kOfQ + 1, 9), "f: q: form is 9; wanted 8");
  EXPECT_EQ(message(kOfQ + 6, 1), "f: q: unit is no power of two");
  EXPECT_EQ(message(kOfQ + 8, 1), "f: q: rows is 257; wanted 256");
  EXPECT_EQ(message(kOfQ + 16, 1), "f: q: k is 257; wanted 256");
  EXPECT_TRUE(message(kOfQ + 24, 1).starts_with("f: q: offset is "));
  EXPECT_TRUE(message(kOfQ + 32, 1).starts_with("f: q: bytes is "));
  EXPECT_TRUE(message(kOfQ + 40, 1).starts_with("f: q: order is "));
  EXPECT_EQ(message(24 + 40, 1), "f: attention_norm: order is 1; wanted 0");
  ModelConfig other = config;
  other.dim = 512;
  const AlignedBuffer file = Mapped(bytes);
  EXPECT_EQ(ReadLayer("f", file.bytes(), other).status().message(),
            "f: attention_norm: k is 256; wanted 512");
}

}  // namespace
}  // namespace shoal::llm
