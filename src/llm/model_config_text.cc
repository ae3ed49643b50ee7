#include "llm/model_config_text.h"

#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "llm/hf_keys_internal.h"
#include "llm/json_fields_internal.h"
#include "llm/model_limits_internal.h"

namespace shoal::llm {
namespace {

using internal::HfKeys;
using internal::Json;
using internal::kContextMax;
using internal::kExpertsMax;
using internal::kExtentMax;
using internal::kLayersMax;

// In the order of the enums.
constexpr std::array<std::string_view, 2> kPairs = {"neighbours", "halves"};
constexpr std::array<std::string_view, 3> kScalings = {"none", "linear", "yarn"};
constexpr std::array<Architecture, 4> kArchitectures = {
    Architecture::kLlama, Architecture::kQwen2, Architecture::kQwen3, Architecture::kQwen3Moe};

Json RopeJson(const RopeConfig& rope) {
  return {{"base", rope.base},
          {"dims", rope.dims},
          {"pairs", kPairs[static_cast<std::size_t>(rope.pairs)]},
          {"scaling", kScalings[static_cast<std::size_t>(rope.scaling)]},
          {"factor", rope.factor},
          {"original_context", rope.original_context},
          {"attention_factor", rope.attention_factor},
          {"beta_fast", rope.beta_fast},
          {"beta_slow", rope.beta_slow},
          {"frequency_factors", rope.frequency_factors}};
}

Json ConfigJson(const ModelConfig& config) {
  return {{"architecture", Name(config.architecture)},
          {"layers", config.layers},
          {"dim", config.dim},
          {"heads", config.heads},
          {"kv_heads", config.kv_heads},
          {"head_dim", config.head_dim},
          {"ff_dim", config.ff_dim},
          {"experts", config.experts},
          {"experts_used", config.experts_used},
          {"expert_ff_dim", config.expert_ff_dim},
          {"separate_experts", config.separate_experts},
          {"vocab", config.vocab},
          {"context", config.context},
          {"sliding_window", config.sliding_window},
          {"rms_eps", config.rms_eps},
          {"tied_embeddings", config.tied_embeddings},
          {"qkv_bias", config.qkv_bias},
          {"qk_norm", config.qk_norm},
          {"rope", RopeJson(config.rope)}};
}

// Which of `names` the text is.
template <class Names>
Result<std::size_t> Choice(const HfKeys& keys, std::string_view key, const Names& names) {
  SHOAL_ASSIGN_OR_RETURN(const std::string text, keys.Text(key));
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return i;
    all += (all.empty() ? "" : ", ") + std::string(names[i]);
  }
  return keys.Unsupported(key, text, all);
}

Result<bool> Flag(const HfKeys& keys, std::string_view key) {
  if (keys.Has(key)) return keys.Flag(key, false);
  return Status(Code::kNotFound, keys.file() + ": has no \"" + std::string(key) + "\"");
}

// One that we do not know would change what is computed.
Status CheckFields(const HfKeys& keys, std::string_view what, const Json& given,
                   const Json& known) {
  if (!given.is_object()) return keys.Wrong(what, "is no object");
  for (const auto& [key, value] : given.items()) {
    if (!known.contains(key)) return keys.Unsupported(what, key, "those of our own");
  }
  return {};
}

Status ReadFrequencyFactors(const HfKeys& keys, RopeConfig& rope) {
  constexpr std::string_view kKey = "frequency_factors";
  const Json& list = keys.Value(kKey);
  const auto pairs = static_cast<std::size_t>(rope.dims / 2);
  if (!list.is_array() || (!list.empty() && list.size() != pairs)) {
    return keys.Wrong(kKey, "is not a list of no or " + std::to_string(pairs) + " numbers");
  }
  for (const Json& item : list) {
    const double number = item.is_number() ? item.get<double>() : 0.0;
    const bool fits = number <= static_cast<double>(std::numeric_limits<float>::max());
    const float factor = fits ? static_cast<float>(number) : 0.0F;
    if (!(factor > 0)) return keys.Wrong(kKey, "has one that is not a number above 0");
    rope.frequency_factors.push_back(factor);
  }
  return {};
}

Status ReadRope(const HfKeys& keys, std::int64_t head_dim, RopeConfig& rope) {
  SHOAL_ASSIGN_OR_RETURN(rope.base, keys.Positive("base"));
  SHOAL_ASSIGN_OR_RETURN(rope.dims, keys.Extent("dims", static_cast<std::uint64_t>(head_dim)));
  if (rope.dims % 2 != 0) return keys.Wrong("dims", "is odd; wanted pairs");
  SHOAL_ASSIGN_OR_RETURN(const std::size_t pairs, Choice(keys, "pairs", kPairs));
  rope.pairs = static_cast<RopePairs>(pairs);
  SHOAL_ASSIGN_OR_RETURN(const std::size_t scaling, Choice(keys, "scaling", kScalings));
  rope.scaling = static_cast<RopeScaling>(scaling);
  SHOAL_ASSIGN_OR_RETURN(rope.factor, keys.Positive("factor"));
  const bool yarn = rope.scaling == RopeScaling::kYarn;
  SHOAL_ASSIGN_OR_RETURN(rope.original_context,
                         keys.Extent("original_context", kContextMax, std::nullopt, yarn ? 1 : 0));
  SHOAL_ASSIGN_OR_RETURN(rope.attention_factor, keys.Positive("attention_factor"));
  SHOAL_ASSIGN_OR_RETURN(rope.beta_fast, keys.Positive("beta_fast"));
  SHOAL_ASSIGN_OR_RETURN(rope.beta_slow, keys.Positive("beta_slow"));
  return ReadFrequencyFactors(keys, rope);
}

Status ReadHeads(const HfKeys& keys, ModelConfig& config) {
  SHOAL_ASSIGN_OR_RETURN(config.heads, keys.Extent("heads", kExtentMax));
  SHOAL_ASSIGN_OR_RETURN(config.kv_heads, keys.Extent("kv_heads", kExtentMax));
  if (config.heads % config.kv_heads != 0) {
    return keys.Wrong("kv_heads", "does not divide " + std::to_string(config.heads) + " heads");
  }
  SHOAL_ASSIGN_OR_RETURN(config.head_dim, keys.Extent("head_dim", kExtentMax));
  if (config.q_dim() > static_cast<std::int64_t>(kExtentMax)) {
    return keys.Wrong("head_dim",
                      "makes heads of " + std::to_string(config.q_dim()) + " numbers together");
  }
  return {};
}

Status ReadFeedForward(const HfKeys& keys, ModelConfig& config) {
  SHOAL_ASSIGN_OR_RETURN(config.experts, keys.Extent("experts", kExpertsMax, std::nullopt, 0));
  const std::uint64_t dense = config.experts == 0 ? 1 : 0;
  SHOAL_ASSIGN_OR_RETURN(config.ff_dim, keys.Extent("ff_dim", kExtentMax, std::nullopt, dense));
  SHOAL_ASSIGN_OR_RETURN(config.experts_used,
                         keys.Extent("experts_used", static_cast<std::uint64_t>(config.experts),
                                     std::nullopt, 1 - dense));
  SHOAL_ASSIGN_OR_RETURN(config.expert_ff_dim,
                         keys.Extent("expert_ff_dim", kExtentMax, std::nullopt, 1 - dense));
  SHOAL_ASSIGN_OR_RETURN(config.separate_experts, Flag(keys, "separate_experts"));
  return {};
}

}  // namespace

std::string SerializeConfig(const ModelConfig& config) { return ConfigJson(config).dump(); }

Result<ModelConfig> ParseConfig(std::string_view name, std::string_view text) {
  if (text.size() > kMaxConfigTextBytes) {
    return Status(Code::kInvalidArgument, std::string(name) + ": " + std::to_string(text.size()) +
                                              " bytes; at most " +
                                              std::to_string(kMaxConfigTextBytes) + " are read");
  }
  Result<Json> json = internal::ParseJson(text);
  if (!json.ok()) return std::move(json).status().Annotate(name);
  const HfKeys keys(std::string(name), *json);
  ModelConfig config;
  SHOAL_RETURN_IF_ERROR(CheckFields(keys, "field", *json, ConfigJson(config)));
  SHOAL_RETURN_IF_ERROR(CheckFields(keys, "rope", keys.Value("rope"), RopeJson(config.rope)));
  std::array<std::string_view, kArchitectures.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = Name(kArchitectures[i]);
  SHOAL_ASSIGN_OR_RETURN(const std::size_t architecture, Choice(keys, "architecture", names));
  config.architecture = kArchitectures[architecture];
  SHOAL_ASSIGN_OR_RETURN(config.layers, keys.Extent("layers", kLayersMax));
  SHOAL_ASSIGN_OR_RETURN(config.dim, keys.Extent("dim", kExtentMax));
  SHOAL_RETURN_IF_ERROR(ReadHeads(keys, config));
  SHOAL_RETURN_IF_ERROR(ReadFeedForward(keys, config));
  SHOAL_ASSIGN_OR_RETURN(config.vocab, keys.Extent("vocab", kExtentMax));
  SHOAL_ASSIGN_OR_RETURN(config.context, keys.Extent("context", kContextMax));
  SHOAL_ASSIGN_OR_RETURN(config.sliding_window,
                         keys.Extent("sliding_window", kContextMax, std::nullopt, 0));
  SHOAL_ASSIGN_OR_RETURN(config.rms_eps, keys.Positive("rms_eps"));
  SHOAL_ASSIGN_OR_RETURN(config.tied_embeddings, Flag(keys, "tied_embeddings"));
  SHOAL_ASSIGN_OR_RETURN(config.qkv_bias, Flag(keys, "qkv_bias"));
  SHOAL_ASSIGN_OR_RETURN(config.qk_norm, Flag(keys, "qk_norm"));
  SHOAL_RETURN_IF_ERROR(ReadRope(keys.Object("rope"), config.head_dim, config.rope));
  return config;
}

}  // namespace shoal::llm
