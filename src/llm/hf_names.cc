#include "llm/hf_names.h"

#include <array>
#include <optional>

#include "llm/model_tensors.h"

namespace shoal::llm {
namespace {

struct NamePair {
  std::string_view theirs;
  std::string_view gguf;
};

constexpr std::array<NamePair, 3> kOutside = {{
    {"model.embed_tokens", "token_embd"},
    {"model.norm", "output_norm"},
    {"lm_head", "output"},
}};

// After "model.layers.3.".
constexpr std::array<NamePair, 13> kInLayer = {{
    {"input_layernorm", "attn_norm"},
    {"post_attention_layernorm", "ffn_norm"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
    {"mlp.gate", "ffn_gate_inp"},               // qwen3_moe
    {"block_sparse_moe.gate", "ffn_gate_inp"},  // mixtral
}};

// After "mlp.experts.7." or "block_sparse_moe.experts.7.".
constexpr std::array<NamePair, 6> kInExpert = {{
    {"gate_proj", "ffn_gate"},
    {"up_proj", "ffn_up"},
    {"down_proj", "ffn_down"},
    {"w1", "ffn_gate"},
    {"w3", "ffn_up"},
    {"w2", "ffn_down"},
}};

template <class Pairs>
std::optional<std::string> Look(const Pairs& pairs, std::string_view name) {
  for (const NamePair& pair : pairs) {
    if (pair.theirs == name) return std::string(pair.gguf);
  }
  return std::nullopt;
}

bool Skip(std::string_view prefix, std::string_view& name) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  return true;
}

// "7" of "7.gate_proj", which is left as "gate_proj"; nothing if no number is there.
std::optional<std::string> SkipNumber(std::string_view& name) {
  const std::size_t dot = name.find('.');
  if (dot == 0 || dot == std::string_view::npos ||
      name.substr(0, dot).find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  std::string number(name.substr(0, dot));
  name.remove_prefix(dot + 1);
  return number;
}

std::optional<std::string> NameInLayer(std::string_view name) {
  if (!Skip("mlp.experts.", name) && !Skip("block_sparse_moe.experts.", name)) {
    return Look(kInLayer, name);
  }
  const std::optional<std::string> expert = SkipNumber(name);
  if (!expert) return std::nullopt;
  const std::optional<std::string> found = Look(kInExpert, name);
  return found ? std::optional(*found + "." + *expert) : std::nullopt;
}

std::optional<std::string> NameOf(std::string_view name) {
  if (!Skip("model.layers.", name)) return Look(kOutside, name);
  const std::optional<std::string> layer = SkipNumber(name);
  if (!layer) return std::nullopt;
  const std::optional<std::string> found = NameInLayer(name);
  return found ? std::optional("blk." + *layer + "." + *found) : std::nullopt;
}

}  // namespace

std::string GgufNameOf(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::string(name);
  const std::optional<std::string> found = NameOf(name.substr(0, dot));
  return found ? *found + std::string(name.substr(dot)) : std::string(name);
}

}  // namespace shoal::llm
