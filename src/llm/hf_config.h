// config.json of a Hugging Face model: its ModelConfig, and how its matrices are quantised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "llm/int4_matrix.h"
#include "llm/model_config.h"

namespace shoal::llm {

// Far above any: a list of all layers is the longest thing in it.
inline constexpr std::size_t kMaxHfConfigBytes = std::size_t{4} << 20U;

// GPTQ or AWQ.
struct Int4Format {
  Int4Packing packing = Int4Packing::kGptq;
  std::size_t group = 0;  // Inputs that share a scale; 0: all of them.
  std::uint32_t zero_offset = 0;
  bool input_groups = false;  // Whether tensors g_idx say which inputs are a group ("desc_act").
};

struct HfConfig {
  // All but what only the tensors tell: qkv_bias is false.
  ModelConfig model;
  std::optional<Int4Format> int4;
};

// `text` is that of config.json, `quantize` that of quantize_config.json, where old files have what
// is now in the former; empty: there is none. `file` is for messages. kInvalidArgument: not such a
// file, or a model_type, a RoPE scaling or a quantisation that we do not have; the message names it
// and those that we do. kNotFound, kCorruption: a key is missing, or is not what others say.
Result<HfConfig> ReadHfConfig(std::string_view file, std::string_view text,
                              std::string_view quantize);

}  // namespace shoal::llm
