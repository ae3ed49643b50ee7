#include "llm/hf_config.h"

#include <array>
#include <string>
#include <utility>

#include "llm/hf_keys_internal.h"
#include "llm/hf_rope_internal.h"
#include "llm/model_limits_internal.h"

namespace shoal::llm {
namespace {

using internal::HfKeys;
using internal::Json;
using internal::kContextMax;
using internal::kExpertsMax;
using internal::kExtentMax;
using internal::kLayersMax;

struct ModelTypeRow {
  std::string_view name;
  Architecture architecture;
  bool qk_norm;
  std::string_view experts;  // The key of their number; empty: there are none.
  std::string_view expert_ff_dim;
};
constexpr std::array<ModelTypeRow, 6> kModelTypes = {{
    {"llama", Architecture::kLlama, false, "", ""},
    {"mistral", Architecture::kLlama, false, "", ""},
    {"mixtral", Architecture::kLlama, false, "num_local_experts", "intermediate_size"},
    {"qwen2", Architecture::kQwen2, false, "", ""},
    {"qwen3", Architecture::kQwen3, true, "", ""},
    {"qwen3_moe", Architecture::kQwen3Moe, true, "num_experts", "moe_intermediate_size"},
}};

Result<const ModelTypeRow*> FindModelType(const HfKeys& keys) {
  SHOAL_ASSIGN_OR_RETURN(const std::string name, keys.Text("model_type"));
  std::string supported;
  for (const ModelTypeRow& row : kModelTypes) {
    if (row.name == name) return &row;
    supported += (supported.empty() ? "" : ", ") + std::string(row.name);
  }
  return keys.Unsupported("model_type", name, supported);
}

Status ReadHeads(const HfKeys& keys, ModelConfig& config) {
  SHOAL_ASSIGN_OR_RETURN(config.heads, keys.Extent("num_attention_heads", kExtentMax));
  SHOAL_ASSIGN_OR_RETURN(config.kv_heads,
                         keys.Extent("num_key_value_heads", kExtentMax, config.heads));
  if (config.heads % config.kv_heads != 0) {
    return keys.Wrong("num_key_value_heads", "is " + std::to_string(config.kv_heads) +
                                                 ", which does not divide the " +
                                                 std::to_string(config.heads) + " heads");
  }
  if (!keys.Has("head_dim") && config.dim % config.heads != 0) {
    return keys.Wrong("hidden_size", "is " + std::to_string(config.dim) +
                                         ", which cannot be cut into " +
                                         std::to_string(config.heads) + " heads");
  }
  SHOAL_ASSIGN_OR_RETURN(config.head_dim,
                         keys.Extent("head_dim", kExtentMax, config.dim / config.heads));
  if (config.q_dim() <= static_cast<std::int64_t>(kExtentMax)) return {};
  return keys.Wrong("num_attention_heads",
                    "makes heads of " + std::to_string(config.q_dim()) + " numbers together");
}

Status ReadExperts(const HfKeys& keys, const ModelTypeRow& row, ModelConfig& config) {
  if (row.experts.empty()) return {};
  SHOAL_ASSIGN_OR_RETURN(config.experts, keys.Extent(row.experts, kExpertsMax));
  SHOAL_ASSIGN_OR_RETURN(
      config.experts_used,
      keys.Extent("num_experts_per_tok", static_cast<std::uint64_t>(config.experts)));
  SHOAL_ASSIGN_OR_RETURN(config.expert_ff_dim, keys.Extent(row.expert_ff_dim, kExtentMax));
  config.separate_experts = true;
  SHOAL_ASSIGN_OR_RETURN(const bool normed, keys.Flag("norm_topk_prob", true));
  SHOAL_ASSIGN_OR_RETURN(const std::int64_t step,
                         keys.Extent("decoder_sparse_step", kLayersMax, 1));
  if (!normed) return keys.Unsupported("norm_topk_prob", "false", "true");
  if (step != 1 || (keys.Has("mlp_only_layers") && !keys.Value("mlp_only_layers").empty())) {
    return keys.Unsupported("a mixture of experts in", "some layers", "those in every layer");
  }
  return {};
}

// How far attention looks back; 0: to the start.
Result<std::int64_t> ReadWindow(const HfKeys& keys, const ModelTypeRow& row) {
  const bool qwen = row.name.starts_with("qwen");
  SHOAL_ASSIGN_OR_RETURN(const bool used, keys.Flag("use_sliding_window", !qwen));
  if (!used) return std::int64_t{0};
  // Theirs is of some layers only.
  if (qwen) return keys.Unsupported("use_sliding_window", "true", "false");
  return keys.Extent("sliding_window", kContextMax, 0, 0);
}

Result<ModelConfig> ReadModel(const HfKeys& keys) {
  SHOAL_ASSIGN_OR_RETURN(const ModelTypeRow* row, FindModelType(keys));
  ModelConfig config;
  config.architecture = row->architecture;
  config.qk_norm = row->qk_norm;
  SHOAL_ASSIGN_OR_RETURN(config.layers, keys.Extent("num_hidden_layers", kLayersMax));
  SHOAL_ASSIGN_OR_RETURN(config.dim, keys.Extent("hidden_size", kExtentMax));
  SHOAL_ASSIGN_OR_RETURN(config.ff_dim, keys.Extent("intermediate_size", kExtentMax));
  SHOAL_ASSIGN_OR_RETURN(config.vocab, keys.Extent("vocab_size", kExtentMax));
  SHOAL_ASSIGN_OR_RETURN(config.context, keys.Extent("max_position_embeddings", kContextMax));
  SHOAL_ASSIGN_OR_RETURN(config.rms_eps, keys.Positive("rms_norm_eps", 1e-6F));
  SHOAL_ASSIGN_OR_RETURN(config.tied_embeddings, keys.Flag("tie_word_embeddings", false));
  SHOAL_ASSIGN_OR_RETURN(config.sliding_window, ReadWindow(keys, *row));
  SHOAL_ASSIGN_OR_RETURN(const std::string activation, keys.Text("hidden_act", "silu"));
  if (activation != "silu") return keys.Unsupported("hidden_act", activation, "silu");
  SHOAL_RETURN_IF_ERROR(ReadHeads(keys, config));
  SHOAL_RETURN_IF_ERROR(ReadExperts(keys, *row, config));
  SHOAL_RETURN_IF_ERROR(ReadHfRope(keys, config));
  return config;
}

Result<Int4Format> ReadGptq(const HfKeys& keys) {
  Int4Format format;
  SHOAL_ASSIGN_OR_RETURN(const std::string version, keys.Text("checkpoint_format", "gptq"));
  if (version != "gptq" && version != "gptq_v2") {
    return keys.Unsupported("checkpoint_format", version, "gptq, gptq_v2");
  }
  format.zero_offset = version == "gptq" ? 1 : 0;
  SHOAL_ASSIGN_OR_RETURN(format.input_groups, keys.Flag("desc_act", false));
  return format;
}

Result<Int4Format> ReadAwq(const HfKeys& keys) {
  SHOAL_ASSIGN_OR_RETURN(std::string version, keys.Text("version", "gemm"));
  // Some programs write it in capitals.
  if (version != "gemm" && version != "GEMM") {
    return keys.Unsupported("AWQ version", version, "gemm");
  }
  return Int4Format{.packing = Int4Packing::kAwq};
}

Result<Int4Format> ReadInt4(const HfKeys& keys) {
  SHOAL_ASSIGN_OR_RETURN(const std::string method, keys.Text("quant_method", "gptq"));
  if (method != "gptq" && method != "awq") {
    return keys.Unsupported("quant_method", method, "gptq, awq");
  }
  SHOAL_ASSIGN_OR_RETURN(const std::int64_t bits, keys.Extent("bits", 64));
  if (bits != 4) return keys.Unsupported("quantisation to bits", std::to_string(bits), "4");
  SHOAL_ASSIGN_OR_RETURN(Int4Format format, method == "gptq" ? ReadGptq(keys) : ReadAwq(keys));
  const auto* group = keys.Value("group_size").get_ptr<const Json::number_integer_t*>();
  if (group != nullptr && *group == -1) return format;
  SHOAL_ASSIGN_OR_RETURN(const std::int64_t size, keys.Extent("group_size", kExtentMax, 128));
  format.group = static_cast<std::size_t>(size);
  return format;
}

Result<Json> ParseFile(std::string_view file, std::string_view text) {
  if (text.size() > kMaxHfConfigBytes) {
    return Status(Code::kInvalidArgument, std::string(file) + ": larger than " +
                                              std::to_string(kMaxHfConfigBytes) + " bytes");
  }
  Result<Json> root = internal::ParseJson(text);
  if (!root.ok()) return std::move(root).status().Annotate(file);
  return root;
}

}  // namespace

Result<HfConfig> ReadHfConfig(std::string_view file, std::string_view text,
                              std::string_view quantize) {
  SHOAL_ASSIGN_OR_RETURN(const Json root, ParseFile(file, text));
  const HfKeys keys(std::string(file), root);
  HfConfig config;
  SHOAL_ASSIGN_OR_RETURN(config.model, ReadModel(keys));
  if (keys.Has("quantization_config")) {
    SHOAL_ASSIGN_OR_RETURN(config.int4, ReadInt4(keys.Object("quantization_config")));
  } else if (!quantize.empty()) {
    SHOAL_ASSIGN_OR_RETURN(const Json apart, ParseFile("quantize_config.json", quantize));
    SHOAL_ASSIGN_OR_RETURN(config.int4, ReadInt4(HfKeys("quantize_config.json", apart)));
  }
  return config;
}

}  // namespace shoal::llm
