#include "llm/model_tensors.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <system_error>
#include <utility>

namespace shoal::llm {
namespace {

void AppendAttention(const ModelConfig& config, std::int64_t layer, std::vector<TensorSpec>& out) {
  const auto add = [&](std::string_view name, const Shape& shape) {
    out.push_back({LayerTensor(layer, name), shape});
  };
  add("attn_norm.weight", {config.dim});
  add("attn_q.weight", {config.q_dim(), config.dim});
  add("attn_k.weight", {config.kv_dim(), config.dim});
  add("attn_v.weight", {config.kv_dim(), config.dim});
  if (config.qkv_bias) {
    add("attn_q.bias", {config.q_dim()});
    add("attn_k.bias", {config.kv_dim()});
    add("attn_v.bias", {config.kv_dim()});
  }
  if (config.qk_norm) {
    add("attn_q_norm.weight", {config.head_dim});
    add("attn_k_norm.weight", {config.head_dim});
  }
  add("attn_output.weight", {config.dim, config.q_dim()});
}

void AppendFeedForward(const ModelConfig& config, std::int64_t layer,
                       std::vector<TensorSpec>& out) {
  const auto add = [&](std::string_view name, const Shape& shape) {
    out.push_back({LayerTensor(layer, name), shape});
  };
  add("ffn_norm.weight", {config.dim});
  if (config.experts == 0) {
    add("ffn_gate.weight", {config.ff_dim, config.dim});
    add("ffn_up.weight", {config.ff_dim, config.dim});
    add("ffn_down.weight", {config.dim, config.ff_dim});
    return;
  }
  add("ffn_gate_inp.weight", {config.experts, config.dim});
  for (std::int64_t e = 0; config.separate_experts && e < config.experts; ++e) {
    const std::string tail = "." + std::to_string(e) + ".weight";
    add("ffn_gate" + tail, {config.expert_ff_dim, config.dim});
    add("ffn_up" + tail, {config.expert_ff_dim, config.dim});
    add("ffn_down" + tail, {config.dim, config.expert_ff_dim});
  }
  if (config.separate_experts) return;
  add("ffn_gate_exps.weight", {config.experts, config.expert_ff_dim, config.dim});
  add("ffn_up_exps.weight", {config.experts, config.expert_ff_dim, config.dim});
  add("ffn_down_exps.weight", {config.experts, config.dim, config.expert_ff_dim});
}

// Tensors that change nothing: the factors are in the configuration, and the other is a left-over
// of early converters.
bool IsIgnored(std::string_view name) {
  return name == "rope_freqs.weight" || name.ends_with(".attn_rot_embd.weight") ||
         name.ends_with(".attention.rotary_emb.inv_freq");
}

Status CheckTensor(const ModelWeights& model, const TensorSpec& spec) {
  SHOAL_ASSIGN_OR_RETURN(const WeightTensor* tensor, model.Get(spec.name));
  const std::string where = model.name() + ": tensor \"" + spec.name + "\" ";
  if (tensor->shape != spec.shape) {
    return Status(Code::kCorruption,
                  where + "is " + ToString(tensor->shape) + "; wanted " + ToString(spec.shape));
  }
  if (tensor->dtype == DType::kI8 || tensor->dtype == DType::kI32) {
    return Status(Code::kCorruption,
                  where + "has elements of type " + std::string(Info(tensor->dtype).name));
  }
  return {};
}

}  // namespace

std::string LayerTensor(std::int64_t layer, std::string_view name) {
  return "blk." + std::to_string(layer) + "." + std::string(name);
}

std::optional<std::int64_t> LayerOfTensor(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::int64_t layer = 0;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data(), end, layer);
  if (parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != '.') return std::nullopt;
  return layer;
}

std::vector<TensorSpec> TensorsOf(const ModelConfig& config) {
  std::vector<TensorSpec> specs;
  specs.push_back({"token_embd.weight", {config.vocab, config.dim}});
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    AppendAttention(config, layer, specs);
    AppendFeedForward(config, layer, specs);
  }
  specs.push_back({"output_norm.weight", {config.dim}});
  if (!config.tied_embeddings) {
    specs.push_back({"output.weight", {config.vocab, config.dim}});
  }
  return specs;
}

Status CheckTensors(const ModelWeights& model, const ModelConfig& config) {
  std::vector<std::string> known;
  for (TensorSpec& spec : TensorsOf(config)) {
    SHOAL_RETURN_IF_ERROR(CheckTensor(model, spec));
    known.push_back(std::move(spec.name));
  }
  std::sort(known.begin(), known.end());
  for (const auto& [name, tensor] : model.tensors()) {
    if (IsIgnored(name)) continue;
    if (std::binary_search(known.begin(), known.end(), name, std::less<>())) continue;
    return Status(Code::kInvalidArgument, model.name() + ": has a tensor \"" + name +
                                              "\", which is no part of a model of architecture " +
                                              std::string(Name(config.architecture)) +
                                              " as we compute it");
  }
  return {};
}

}  // namespace shoal::llm
