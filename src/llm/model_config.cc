#include "llm/model_config.h"

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "kernels/dequantize.h"
#include "llm/model_limits_internal.h"
#include "llm/model_tensors.h"

namespace shoal::llm {
namespace {

struct ArchitectureRow {
  Architecture architecture;
  std::string_view name;
  RopePairs rope_pairs;
  bool qk_norm;
  bool needs_experts;
  bool may_have_experts;
};
// In the order of the enum.
constexpr std::array<ArchitectureRow, 4> kArchitectures = {{
    {Architecture::kLlama, "llama", RopePairs::kNeighbours, false, false, true},
    {Architecture::kQwen2, "qwen2", RopePairs::kHalves, false, false, false},
    {Architecture::kQwen3, "qwen3", RopePairs::kHalves, true, false, false},
    {Architecture::kQwen3Moe, "qwen3moe", RopePairs::kHalves, true, true, true},
}};

using internal::kContextMax;
using internal::kExpertsMax;
using internal::kExtentMax;
using internal::kLayersMax;

Status Wrong(const GgufModel& model, std::string_view what) {
  return Status(Code::kCorruption, model.name() + ": " + std::string(what));
}

Result<const ArchitectureRow*> FindArchitecture(const GgufModel& model) {
  SHOAL_ASSIGN_OR_RETURN(const std::string_view name,
                         model.metadata().GetString("general.architecture"));
  std::string supported;
  for (const ArchitectureRow& row : kArchitectures) {
    if (row.name == name) return &row;
    supported += (supported.empty() ? "" : ", ") + std::string(row.name);
  }
  return Status(Code::kInvalidArgument, model.name() + ": architecture \"" + std::string(name) +
                                            "\" is not supported; supported are " + supported);
}

// Reads the keys of one architecture: "block_count" is "llama.block_count".
class KeyReader {
 public:
  KeyReader(const GgufMetadata& metadata, std::string_view architecture)
      : metadata_(metadata), prefix_(std::string(architecture) + ".") {}

  bool Has(std::string_view key) const { return metadata_.Has(Full(key)); }

  // From `least` to `most`. Without the key: `otherwise`, or a failure if there is none.
  Result<std::int64_t> Extent(std::string_view key, std::uint64_t most,
                              std::optional<std::int64_t> otherwise = std::nullopt,
                              std::uint64_t least = 1) const {
    const std::string full = Full(key);
    if (otherwise && !metadata_.Has(full)) return *otherwise;
    SHOAL_ASSIGN_OR_RETURN(const std::uint64_t value, metadata_.GetUnsigned(full));
    if (value < least || value > most) {
      return Status(Code::kCorruption, metadata_.file() + ": key \"" + full + "\" is " +
                                           std::to_string(value) + "; wanted " +
                                           std::to_string(least) + " to " + std::to_string(most));
    }
    return static_cast<std::int64_t>(value);
  }

  // A number above 0. Without the key: `otherwise`, or a failure if there is none.
  Result<float> Positive(std::string_view key,
                         std::optional<float> otherwise = std::nullopt) const {
    const std::string full = Full(key);
    if (otherwise && !metadata_.Has(full)) return *otherwise;
    SHOAL_ASSIGN_OR_RETURN(const float value, metadata_.GetFloat(full));
    if (value > 0 && std::isfinite(value)) return value;
    return Status(Code::kCorruption, metadata_.file() + ": key \"" + full + "\" is " +
                                         std::to_string(value) + "; wanted a number above 0");
  }

  Result<std::string_view> TextOr(std::string_view key, std::string_view otherwise) const {
    return metadata_.GetStringOr(Full(key), otherwise);
  }

 private:
  std::string Full(std::string_view key) const { return prefix_ + std::string(key); }

  const GgufMetadata& metadata_;
  std::string prefix_;
};

Status ReadHeads(const GgufModel& model, const KeyReader& keys, ModelConfig& config) {
  SHOAL_ASSIGN_OR_RETURN(config.heads, keys.Extent("attention.head_count", kExtentMax));
  SHOAL_ASSIGN_OR_RETURN(config.kv_heads,
                         keys.Extent("attention.head_count_kv", kExtentMax, config.heads));
  if (config.heads % config.kv_heads != 0) {
    return Wrong(model, std::to_string(config.heads) + " heads cannot share " +
                            std::to_string(config.kv_heads) + " heads of keys and values");
  }
  if (!keys.Has("attention.key_length") && config.dim % config.heads != 0) {
    return Wrong(model, "an embedding of " + std::to_string(config.dim) + " cannot be cut into " +
                            std::to_string(config.heads) + " heads");
  }
  SHOAL_ASSIGN_OR_RETURN(
      config.head_dim, keys.Extent("attention.key_length", kExtentMax, config.dim / config.heads));
  SHOAL_ASSIGN_OR_RETURN(const std::int64_t value_dim,
                         keys.Extent("attention.value_length", kExtentMax, config.head_dim));
  if (value_dim != config.head_dim) {
    return Status(Code::kInvalidArgument,
                  model.name() + ": keys of " + std::to_string(config.head_dim) +
                      " numbers and values of " + std::to_string(value_dim) +
                      "; we compute models in which both are the same");
  }
  if (config.q_dim() > static_cast<std::int64_t>(kExtentMax)) {
    return Wrong(model, "heads of " + std::to_string(config.q_dim()) + " numbers together");
  }
  return {};
}

Status ReadExperts(const GgufModel& model, const KeyReader& keys, const ArchitectureRow& row,
                   ModelConfig& config) {
  SHOAL_ASSIGN_OR_RETURN(config.experts, keys.Extent("expert_count", kExpertsMax, 0, 0));
  if (config.experts == 0) {
    if (row.needs_experts) return Wrong(model, "a " + std::string(row.name) + " without experts");
    return {};
  }
  if (!row.may_have_experts) {
    return Status(Code::kInvalidArgument,
                  model.name() + ": a " + std::string(row.name) + " with experts");
  }
  SHOAL_ASSIGN_OR_RETURN(
      config.experts_used,
      keys.Extent("expert_used_count", static_cast<std::uint64_t>(config.experts)));
  SHOAL_ASSIGN_OR_RETURN(config.expert_ff_dim,
                         keys.Extent("expert_feed_forward_length", kExtentMax, config.ff_dim));
  return {};
}

Status ReadYarn(const KeyReader& keys, const ModelConfig& config, RopeConfig& rope) {
  SHOAL_ASSIGN_OR_RETURN(rope.original_context, keys.Extent("rope.scaling.original_context_length",
                                                            kContextMax, config.context));
  SHOAL_ASSIGN_OR_RETURN(rope.attention_factor, keys.Positive("rope.scaling.attn_factor", 1.0F));
  SHOAL_ASSIGN_OR_RETURN(rope.beta_fast, keys.Positive("rope.scaling.yarn_beta_fast", 32.0F));
  SHOAL_ASSIGN_OR_RETURN(rope.beta_slow, keys.Positive("rope.scaling.yarn_beta_slow", 1.0F));
  return {};
}

Status ReadRopeScaling(const GgufModel& model, const KeyReader& keys, const ModelConfig& config,
                       RopeConfig& rope) {
  SHOAL_ASSIGN_OR_RETURN(const std::string_view type, keys.TextOr("rope.scaling.type", "linear"));
  // Files of 2023 have the factor under another key.
  SHOAL_ASSIGN_OR_RETURN(const float early_factor, keys.Positive("rope.scale_linear", 1.0F));
  SHOAL_ASSIGN_OR_RETURN(rope.factor, keys.Positive("rope.scaling.factor", early_factor));
  if (type == "yarn") {
    rope.scaling = RopeScaling::kYarn;
    return ReadYarn(keys, config, rope);
  }
  if (type != "none" && type != "linear") {
    return Status(Code::kInvalidArgument, model.name() + ": RoPE scaling \"" + std::string(type) +
                                              "\" is not supported; supported are none, linear, "
                                              "yarn");
  }
  if (type == "none") rope.factor = 1.0F;
  rope.scaling = rope.factor == 1.0F ? RopeScaling::kNone : RopeScaling::kLinear;
  return {};
}

Status ReadFrequencyFactors(const GgufModel& model, RopeConfig& rope) {
  const GgufTensor* tensor = model.Find("rope_freqs.weight");
  if (tensor == nullptr) return {};
  if (tensor->shape != Shape{rope.dims / 2} || tensor->dtype != DType::kF32) {
    return Wrong(model, "tensor \"rope_freqs.weight\" is " + std::string(Info(tensor->dtype).name) +
                            " " + ToString(tensor->shape) + "; wanted f32 " +
                            ToString(Shape{rope.dims / 2}));
  }
  rope.frequency_factors.resize(static_cast<std::size_t>(rope.dims / 2));
  kernels::Dequantize(tensor->dtype, tensor->bytes, rope.frequency_factors);
  for (const float factor : rope.frequency_factors) {
    if (!(factor > 0) || !std::isfinite(factor)) {
      return Wrong(model, "tensor \"rope_freqs.weight\" has a " + std::to_string(factor));
    }
  }
  return {};
}

Status ReadRope(const GgufModel& model, const KeyReader& keys, const ArchitectureRow& row,
                ModelConfig& config) {
  RopeConfig& rope = config.rope;
  rope.pairs = row.rope_pairs;
  SHOAL_ASSIGN_OR_RETURN(rope.base, keys.Positive("rope.freq_base", 10000.0F));
  SHOAL_ASSIGN_OR_RETURN(
      rope.dims, keys.Extent("rope.dimension_count", static_cast<std::uint64_t>(config.head_dim),
                             config.head_dim));
  if (rope.dims % 2 != 0) {
    return Wrong(model, "RoPE turns " + std::to_string(rope.dims) + " numbers; wanted pairs");
  }
  SHOAL_RETURN_IF_ERROR(ReadRopeScaling(model, keys, config, rope));
  return ReadFrequencyFactors(model, rope);
}

Status ReadVocabulary(const GgufModel& model, const KeyReader& keys, ModelConfig& config) {
  SHOAL_ASSIGN_OR_RETURN(const GgufTensor* embedding, model.Get("token_embd.weight"));
  if (embedding->shape.rank() != 2 || embedding->shape[0] < 1 ||
      embedding->shape[0] > static_cast<std::int64_t>(kExtentMax)) {
    return Wrong(model, "tensor \"token_embd.weight\" is " + ToString(embedding->shape) +
                            "; wanted [vocabulary, " + std::to_string(config.dim) + "]");
  }
  config.vocab = embedding->shape[0];
  SHOAL_ASSIGN_OR_RETURN(const std::int64_t says,
                         keys.Extent("vocab_size", kExtentMax, config.vocab));
  if (says != config.vocab) {
    return Wrong(model, "says that it has a vocabulary of " + std::to_string(says) +
                            " tokens; its embedding has " + std::to_string(config.vocab));
  }
  return {};
}

}  // namespace

std::string_view Name(Architecture architecture) {
  return kArchitectures[static_cast<std::size_t>(architecture)].name;
}

std::ostream& operator<<(std::ostream& out, Architecture architecture) {
  return out << Name(architecture);
}

Result<ModelConfig> ReadModelConfig(const GgufModel& model) {
  SHOAL_ASSIGN_OR_RETURN(const ArchitectureRow* row, FindArchitecture(model));
  const KeyReader keys(model.metadata(), row->name);
  ModelConfig config;
  config.architecture = row->architecture;
  SHOAL_ASSIGN_OR_RETURN(config.layers, keys.Extent("block_count", kLayersMax));
  SHOAL_ASSIGN_OR_RETURN(config.dim, keys.Extent("embedding_length", kExtentMax));
  SHOAL_ASSIGN_OR_RETURN(config.ff_dim, keys.Extent("feed_forward_length", kExtentMax));
  SHOAL_ASSIGN_OR_RETURN(config.context, keys.Extent("context_length", kContextMax));
  SHOAL_ASSIGN_OR_RETURN(config.rms_eps, keys.Positive("attention.layer_norm_rms_epsilon"));
  SHOAL_ASSIGN_OR_RETURN(config.sliding_window,
                         keys.Extent("attention.sliding_window", kContextMax, 0, 0));
  SHOAL_RETURN_IF_ERROR(ReadHeads(model, keys, config));
  SHOAL_RETURN_IF_ERROR(ReadExperts(model, keys, *row, config));
  SHOAL_RETURN_IF_ERROR(ReadRope(model, keys, *row, config));
  SHOAL_RETURN_IF_ERROR(ReadVocabulary(model, keys, config));
  config.tied_embeddings = model.Find("output.weight") == nullptr;
  config.qkv_bias = model.Find(LayerTensor(0, "attn_q.bias")) != nullptr;
  config.qk_norm = row->qk_norm;
  SHOAL_RETURN_IF_ERROR(CheckTensors(WeightsOf(model), config));
  return config;
}

std::int64_t KvBytesPerToken(const ModelConfig& config) {
  constexpr std::int64_t kBytesOfF16 = 2;
  return config.layers * 2 * config.kv_dim() * kBytesOfF16;
}

}  // namespace shoal::llm
