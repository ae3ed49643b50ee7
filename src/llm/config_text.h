// A ModelConfig as text, for a node that gets layers without the model's file. Every number comes
// back as it was.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "llm/model_config.h"

namespace shoal::llm {

std::string ConfigText(const ModelConfig& config);

// kCorruption: not such a text, or numbers that no model has. What passes can be computed with, as
// what ReadModelConfig returns can.
Result<ModelConfig> ParseConfig(std::string_view text);

}  // namespace shoal::llm
