// A ModelConfig as text: for devices that are given layers, not the files of the model.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "llm/model_config.h"

namespace shoal::llm {

// Longer texts are refused: the longest honest ones have a frequency factor for each pair of a
// head.
inline constexpr std::size_t kMaxConfigTextBytes = 64U << 10U;

// JSON in one line. ParseConfig gives back every number to the bit.
std::string SerializeConfig(const ModelConfig& config);

// Checks what the readers of model files check, so that code which computes need not ask again.
// `name` is for messages. kNotFound: a field is missing. kInvalidArgument: not JSON, too long, or
// something that we do not have. kCorruption: a field is not what it must be.
Result<ModelConfig> ParseConfig(std::string_view name, std::string_view text);

}  // namespace shoal::llm
