#include <string>

#include "llm/hf_rope_internal.h"
#include "llm/model_limits_internal.h"
#include "llm/scalar_math_internal.h"

namespace shoal::llm::internal {
namespace {

constexpr float kTwoPi = 6.28318530717958647692F;

// Llama 3.1 on: slow pairs are stretched, fast ones left, those between in between. As converters
// to GGUF compute "rope_freqs.weight".
Status ReadLlama3(const HfKeys& keys, RopeConfig& rope) {
  SHOAL_ASSIGN_OR_RETURN(const float factor, keys.Positive("factor"));
  SHOAL_ASSIGN_OR_RETURN(const float low, keys.Positive("low_freq_factor", 1.0F));
  SHOAL_ASSIGN_OR_RETURN(const float high, keys.Positive("high_freq_factor", 4.0F));
  SHOAL_ASSIGN_OR_RETURN(const std::int64_t original,
                         keys.Extent("original_max_position_embeddings", kContextMax, 8192));
  if (high <= low) return keys.Wrong("high_freq_factor", "is not above low_freq_factor");
  for (std::int64_t i = 0; i < rope.dims; i += 2) {
    const float wavelength =
        kTwoPi * Pow(rope.base, static_cast<float>(i) / static_cast<float>(rope.dims));
    const float turns = static_cast<float>(original) / wavelength;
    float stretch = 1.0F;
    if (turns < low) {
      stretch = factor;
    } else if (turns <= high) {
      const float smooth = (turns - low) / (high - low);
      stretch = 1.0F / ((1.0F - smooth) / factor + smooth);
    }
    rope.frequency_factors.push_back(stretch);
  }
  return {};
}

Status ReadYarn(const HfKeys& keys, const ModelConfig& config, RopeConfig& rope) {
  rope.scaling = RopeScaling::kYarn;
  SHOAL_ASSIGN_OR_RETURN(rope.factor, keys.Positive("factor"));
  SHOAL_ASSIGN_OR_RETURN(rope.original_context, keys.Extent("original_max_position_embeddings",
                                                            kContextMax, config.context));
  SHOAL_ASSIGN_OR_RETURN(rope.beta_fast, keys.Positive("beta_fast", 32.0F));
  SHOAL_ASSIGN_OR_RETURN(rope.beta_slow, keys.Positive("beta_slow", 1.0F));
  if (keys.Has("mscale") || keys.Has("mscale_all_dim")) {
    return keys.Unsupported("rope_scaling with", "mscale", "those without");
  }
  // Here it is the whole magnitude, in RopeConfig what comes beside 1 + 0.1 ln(factor).
  const float usual = 1.0F + 0.1F * Log(rope.factor);
  SHOAL_ASSIGN_OR_RETURN(const float whole, keys.Positive("attention_factor", usual));
  rope.attention_factor = whole / usual;
  return {};
}

Status ReadScaling(const HfKeys& keys, const ModelConfig& config, RopeConfig& rope) {
  SHOAL_ASSIGN_OR_RETURN(const std::string early, keys.Text("type", "default"));
  SHOAL_ASSIGN_OR_RETURN(const std::string type, keys.Text("rope_type", early));
  if (type == "default") return {};
  if (type == "llama3") return ReadLlama3(keys, rope);
  if (type == "yarn") return ReadYarn(keys, config, rope);
  if (type != "linear") {
    return keys.Unsupported("RoPE scaling", type, "default, linear, llama3, yarn");
  }
  SHOAL_ASSIGN_OR_RETURN(rope.factor, keys.Positive("factor"));
  if (rope.factor != 1.0F) rope.scaling = RopeScaling::kLinear;
  return {};
}

}  // namespace

Status ReadHfRope(const HfKeys& keys, ModelConfig& config) {
  RopeConfig& rope = config.rope;
  // These files have the rows of q and k as they were trained, which only those of GGUF's llama
  // have not.
  rope.pairs = RopePairs::kHalves;
  // Since version 5 of transformers all of it is in one object.
  const HfKeys scaling =
      keys.Object(keys.Has("rope_parameters") ? "rope_parameters" : "rope_scaling");
  SHOAL_ASSIGN_OR_RETURN(const float base, keys.Positive("rope_theta", 10000.0F));
  SHOAL_ASSIGN_OR_RETURN(rope.base, scaling.Positive("rope_theta", base));
  SHOAL_ASSIGN_OR_RETURN(const float partial, keys.Positive("partial_rotary_factor", 1.0F));
  if (partial > 1.0F) return keys.Wrong("partial_rotary_factor", "is above 1");
  rope.dims = static_cast<std::int64_t>(static_cast<float>(config.head_dim) * partial);
  if (rope.dims < 2 || rope.dims % 2 != 0) {
    return keys.Wrong("head_dim",
                      "makes RoPE turn " + std::to_string(rope.dims) + " numbers; wanted pairs");
  }
  return ReadScaling(scaling, config, rope);
}

}  // namespace shoal::llm::internal
