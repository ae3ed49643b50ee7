#include "llm/config_text.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>

#include "llm/model_limits_internal.h"

namespace shoal::llm {
namespace {

using internal::kContextMax;
using internal::kExpertsMax;
using internal::kExtentMax;
using internal::kLayersMax;

// One list for both directions: name, place and largest value of every whole number, …
template <class Config, class Visit>
void VisitNumbers(Config& config, const Visit& visit) {
  visit("layers", config.layers, kLayersMax);
  visit("dim", config.dim, kExtentMax);
  visit("heads", config.heads, kExtentMax);
  visit("kv_heads", config.kv_heads, kExtentMax);
  visit("head_dim", config.head_dim, kExtentMax);
  visit("ff_dim", config.ff_dim, kExtentMax);
  visit("experts", config.experts, kExpertsMax);
  visit("experts_used", config.experts_used, kExpertsMax);
  visit("expert_ff_dim", config.expert_ff_dim, kExtentMax);
  visit("vocab", config.vocab, kExtentMax);
  visit("context", config.context, kContextMax);
  visit("sliding_window", config.sliding_window, kContextMax);
  visit("rope_dims", config.rope.dims, kExtentMax);
  visit("rope_original_context", config.rope.original_context, kContextMax);
}
// … and of every fraction, which is written as its bits.
template <class Config, class Visit>
void VisitFloats(Config& config, const Visit& visit) {
  visit("rms_eps", config.rms_eps);
  visit("rope_base", config.rope.base);
  visit("rope_factor", config.rope.factor);
  visit("rope_attention_factor", config.rope.attention_factor);
  visit("rope_beta_fast", config.rope.beta_fast);
  visit("rope_beta_slow", config.rope.beta_slow);
}
constexpr std::string_view kFactor = "rope_frequency_factor";
// Flags and enums, as small numbers.
template <class Config, class Visit>
void VisitSmall(Config& config, const Visit& visit) {
  visit("architecture", config.architecture, 3);
  visit("separate_experts", config.separate_experts, 1);
  visit("tied_embeddings", config.tied_embeddings, 1);
  visit("qkv_bias", config.qkv_bias, 1);
  visit("qk_norm", config.qk_norm, 1);
  visit("rope_pairs", config.rope.pairs, 1);
  visit("rope_scaling", config.rope.scaling, 2);
}

Status Bad(std::string_view what) {
  return {Code::kCorruption, "model configuration: " + std::string(what)};
}

// "name value" lines. Names may repeat: their values are in order.
Result<std::multimap<std::string, std::uint64_t, std::less<>>> ParseLines(std::string_view text) {
  std::multimap<std::string, std::uint64_t, std::less<>> lines;
  if (text.size() > (1U << 20U)) return Bad("too long");
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return Bad("a line without a value");
    std::uint64_t value = 0;
    const char* const last = line.data() + line.size();
    const auto [stop, error] = std::from_chars(line.data() + space + 1, last, value);
    if (error != std::errc() || stop != last) return Bad("a value that is no number");
    lines.emplace(line.substr(0, space), value);
  }
  return lines;
}

Status Check(const ModelConfig& config) {
  const auto positive = [](float value) { return value > 0 && std::isfinite(value); };
  if (config.layers < 1 || config.dim < 1 || config.heads < 1 || config.kv_heads < 1 ||
      config.head_dim < 1 || config.vocab < 1 || config.context < 1 ||
      config.heads % config.kv_heads != 0 ||
      config.q_dim() > static_cast<std::int64_t>(kExtentMax)) {
    return Bad("extents");
  }
  if (config.experts == 0 ? config.ff_dim < 1
                          : config.experts_used < 1 || config.experts_used > config.experts ||
                                config.expert_ff_dim < 1) {
    return Bad("experts");
  }
  const RopeConfig& rope = config.rope;
  if (rope.dims < 2 || rope.dims % 2 != 0 || rope.dims > config.head_dim ||
      (rope.scaling == RopeScaling::kYarn && rope.original_context < 1) ||
      (!rope.frequency_factors.empty() &&
       rope.frequency_factors.size() != static_cast<std::size_t>(rope.dims / 2))) {
    return Bad("rope");
  }
  bool good = true;
  VisitFloats(config, [&](std::string_view, float value) { good = good && positive(value); });
  for (const float factor : rope.frequency_factors) good = good && positive(factor);
  return good ? Status() : Bad("a fraction that is not above 0");
}

}  // namespace

std::string ConfigText(const ModelConfig& config) {
  std::string text;
  const auto line = [&](std::string_view name, std::uint64_t value) {
    text += std::string(name) + " " + std::to_string(value) + "\n";
  };
  VisitSmall(config, [&](std::string_view name, auto value, std::uint64_t) {
    line(name, static_cast<std::uint64_t>(value));
  });
  VisitNumbers(config, [&](std::string_view name, std::int64_t value, std::uint64_t) {
    line(name, static_cast<std::uint64_t>(value));
  });
  VisitFloats(config, [&](std::string_view name, float value) {
    line(name, std::bit_cast<std::uint32_t>(value));
  });
  for (const float factor : config.rope.frequency_factors) {
    line(kFactor, std::bit_cast<std::uint32_t>(factor));
  }
  return text;
}

Result<ModelConfig> ParseConfig(std::string_view text) {
  SHOAL_ASSIGN_OR_RETURN(const auto lines, ParseLines(text));
  Status status;
  const auto get = [&](std::string_view name, std::uint64_t most) -> std::uint64_t {
    const auto found = lines.find(name);
    if (found != lines.end() && found->second <= most) return found->second;
    status = Bad(name);
    return 0;
  };
  ModelConfig config;
  VisitSmall(config, [&](std::string_view name, auto& value, std::uint64_t most) {
    value = static_cast<std::remove_reference_t<decltype(value)>>(get(name, most));
  });
  VisitNumbers(config, [&](std::string_view name, std::int64_t& value, std::uint64_t most) {
    value = static_cast<std::int64_t>(get(name, most));
  });
  VisitFloats(config, [&](std::string_view name, float& value) {
    value = std::bit_cast<float>(static_cast<std::uint32_t>(get(name, UINT32_MAX)));
  });
  const auto [first, last] = lines.equal_range(kFactor);
  for (auto at = first; at != last; ++at) {
    config.rope.frequency_factors.push_back(
        std::bit_cast<float>(static_cast<std::uint32_t>(at->second)));
  }
  if (!status.ok()) return status;
  SHOAL_RETURN_IF_ERROR(Check(config));
  return config;
}

}  // namespace shoal::llm
