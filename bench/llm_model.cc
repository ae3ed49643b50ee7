#include "bench/llm_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "kernels/quantize.h"
#include "llm/gguf_writer.h"
#include "llm/model_config.h"
#include "llm/model_tensors.h"
#include "llm/quantize_plan.h"
#include "os/file.h"

namespace shoal::bench {
namespace {

llm::ModelConfig TinyLlama() {
  llm::ModelConfig config;
  config.architecture = llm::Architecture::kLlama;
  config.layers = 22;
  config.dim = 2048;
  config.heads = 32;
  config.kv_heads = 4;
  config.head_dim = 64;
  config.ff_dim = 5632;
  config.vocab = 32000;
  config.context = 2048;
  config.rms_eps = 1e-5F;
  config.rope.dims = 64;
  return config;
}

// As SentencePiece has it: three that are special, the bytes, and words that mean nothing.
void SetVocabulary(std::int64_t size, llm::GgufWriter& writer) {
  enum : std::int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kByte = 6 };
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  std::vector<std::int32_t> types = {kUnknown, kControl, kControl};
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(fmt::format("<0x{:02X}>", byte));
    types.push_back(kByte);
  }
  for (char letter = 'a'; letter <= 'z'; ++letter) tokens.emplace_back(1, letter);
  while (tokens.size() < static_cast<std::size_t>(size)) {
    tokens.push_back(fmt::format("\u2581w{}", tokens.size()));
  }
  types.resize(tokens.size(), kNormal);
  writer.SetString("tokenizer.ggml.model", "llama");
  writer.SetStrings("tokenizer.ggml.tokens",
                    std::vector<std::string_view>(tokens.begin(), tokens.end()));
  writer.SetFloats("tokenizer.ggml.scores", std::vector<float>(tokens.size()));
  writer.SetIntegers("tokenizer.ggml.token_type", types);
  writer.SetUnsigned("tokenizer.ggml.bos_token_id", 1);
  writer.SetUnsigned("tokenizer.ggml.eos_token_id", 2);
}

llm::GgufWriter Keys(const llm::ModelConfig& config) {
  llm::GgufWriter writer;
  const auto number = [&](const char* key, std::int64_t value) {
    writer.SetUnsigned(key, static_cast<std::uint32_t>(value));
  };
  writer.SetString("general.architecture", "llama");
  writer.SetString("general.name", "random weights in the shape of TinyLlama-1.1B");
  number("llama.block_count", config.layers);
  number("llama.embedding_length", config.dim);
  number("llama.feed_forward_length", config.ff_dim);
  number("llama.context_length", config.context);
  number("llama.vocab_size", config.vocab);
  number("llama.attention.head_count", config.heads);
  number("llama.attention.head_count_kv", config.kv_heads);
  number("llama.rope.dimension_count", config.rope.dims);
  writer.SetFloat("llama.attention.layer_norm_rms_epsilon", config.rms_eps);
  SetVocabulary(config.vocab, writer);
  return writer;
}

// Weights of a mebi of numbers, which is then repeated: quantising a billion takes minutes.
std::string Sample(DType dtype, Random& random) {
  std::vector<float> weights(std::size_t{1} << 20U);
  for (float& weight : weights) weight = static_cast<float>(random.Unit() - 0.5) * 0.05F;
  std::string bytes(weights.size() / Info(dtype).block_elements * Info(dtype).block_bytes, '\0');
  kernels::Quantize(dtype, weights, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

Status WriteRepeated(const std::string& sample, std::size_t bytes, os::AtomicFile& file) {
  for (std::size_t at = 0; at < bytes; at += sample.size()) {
    const std::size_t part = std::min(sample.size(), bytes - at);
    SHOAL_RETURN_IF_ERROR(file.Write(std::string_view(sample).substr(0, part)));
  }
  return {};
}

}  // namespace

Result<std::string> TinyLlamaFile(const std::string& folder, std::string_view mixture) {
  SHOAL_ASSIGN_OR_RETURN(const llm::Mixture types, llm::FindMixture(mixture));
  std::string path = folder + "/tinyllama-shape-" + std::string(types.name) + ".gguf";
  if (std::filesystem::exists(path)) return path;
  const llm::ModelConfig config = TinyLlama();
  llm::GgufWriter writer = Keys(config);
  writer.SetUnsigned("general.file_type", types.file_type);
  std::vector<DType> dtypes;
  for (const llm::TensorSpec& spec : llm::TensorsOf(config)) {
    dtypes.push_back(llm::TypeIn(types, spec, config));
    writer.AddTensor(spec.name, dtypes.back(), spec.shape);
  }
  SHOAL_ASSIGN_OR_RETURN(os::AtomicFile file,
                         os::AtomicFile::Create(path, os::FileAccess::kEveryone));
  SHOAL_RETURN_IF_ERROR(file.Write(writer.Header()));
  Random random(1);
  std::vector<std::pair<DType, std::string>> samples;
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    const auto has = [&](const auto& sample) { return sample.first == dtypes[i]; };
    auto sample = std::find_if(samples.begin(), samples.end(), has);
    if (sample == samples.end()) {
      samples.emplace_back(dtypes[i], Sample(dtypes[i], random));
      sample = samples.end() - 1;
    }
    SHOAL_RETURN_IF_ERROR(WriteRepeated(sample->second, writer.TensorBytes(i), file));
    SHOAL_RETURN_IF_ERROR(file.Write(std::string(writer.Padding(i), '\0')));
  }
  SHOAL_RETURN_IF_ERROR(file.Commit());
  return path;
}

}  // namespace shoal::bench
