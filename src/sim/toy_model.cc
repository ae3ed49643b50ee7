#include "sim/toy_model.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/random.h"
#include "kernels/quantize.h"
#include "llm/engine.h"
#include "llm/layer.h"
#include "llm/layer_file.h"
#include "llm/model_tensors.h"
#include "pipeline/layer_store.h"
#include "wire/piece.h"

namespace shoal::sim {

std::string ToyHash(std::span<const std::byte> bytes) {
  Fingerprint hash;
  hash.AddBytes(bytes);
  std::string text = std::to_string(hash.value());
  text.resize(sizeof(wire::Sha256Bytes), '.');
  return text;
}

ToyModel::ToyModel(std::int64_t layers, std::int64_t dim, std::uint64_t seed) : weights_("toy") {
  config_.layers = layers;
  config_.dim = dim;
  config_.heads = 4;
  config_.kv_heads = 2;
  config_.head_dim = dim / 4;
  config_.ff_dim = 2 * dim;
  config_.vocab = 97;
  config_.context = 512;
  config_.rms_eps = 1e-5F;
  config_.rope.dims = config_.head_dim;
  Random random(seed);
  for (const llm::TensorSpec& spec : llm::TensorsOf(config_)) {
    const auto count = static_cast<std::size_t>(spec.shape.elements());
    std::vector<float> values(count);
    const bool matrix = spec.shape.rank() == 2;
    // Such that rows neither fade nor explode on their way down.
    const double scale = matrix ? 1.5 / std::sqrt(static_cast<double>(spec.shape[1])) : 0.1;
    for (float& value : values) {
      value = static_cast<float>((matrix ? 0.0 : 1.0) + scale * random.Normal());
    }
    const DType dtype = matrix ? DType::kQ8_0 : DType::kF32;
    std::vector<std::byte>& bytes = bytes_.emplace_back();
    if (matrix) {
      bytes.resize(count / 32 * 34);
      kernels::Quantize(dtype, values, bytes);
    } else {
      const std::span<const std::byte> raw = std::as_bytes(std::span(values));
      bytes.assign(raw.begin(), raw.end());
    }
    const Status added = weights_.Add(spec.name, {dtype, spec.shape, bytes});
    SHOAL_CHECK(added.ok());
  }
  Serial serial;
  for (std::int64_t i = 0; i < layers; ++i) {
    const auto layer = llm::LoadLayer(weights_, config_, i, serial);
    SHOAL_CHECK(layer.ok());
    File file;
    file.bytes = *AlignedBuffer::Make(llm::LayerFileBytes(*layer, config_));
    std::byte* at = file.bytes.data();
    const Status written =
        llm::WriteLayer(*layer, config_, [&](std::span<const std::byte> bytes) -> Status {
          at = std::copy(bytes.begin(), bytes.end(), at);
          return {};
        });
    SHOAL_CHECK(written.ok());
    file.name.set_bytes(file.bytes.size());
    for (std::uint32_t c = 0; c < pipeline::ChunkCount(file.bytes.size()); ++c) {
      *file.name.mutable_chunks() += ToyHash(file.bytes.bytes().subspan(
          c * wire::kChunkBytes, pipeline::ChunkSize(file.bytes.size(), c)));
    }
    file.name.set_sha256(ToyHash(std::as_bytes(std::span(file.name.chunks()))));
    files_.push_back(std::move(file));
  }
}

std::vector<std::int32_t> ToyModel::Answer(const std::vector<std::int32_t>& prompt,
                                           std::size_t tokens) const {
  Serial serial;
  const auto engine = llm::Engine::Load(weights_, config_, {}, serial);
  SHOAL_CHECK(engine.ok());
  llm::SamplingOptions greedy;
  greedy.temperature = 0;
  llm::Generation generation(**engine, greedy, 0);
  generation.Append(prompt);
  std::vector<std::int32_t> answer;
  while (answer.size() < tokens) {
    const auto next = generation.Next();
    SHOAL_CHECK(next.ok());
    answer.push_back(next->token);
  }
  return answer;
}

}  // namespace shoal::sim
