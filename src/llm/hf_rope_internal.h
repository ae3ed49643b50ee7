// The part of config.json about RoPE.
#pragma once

#include "base/status.h"
#include "llm/hf_keys_internal.h"
#include "llm/model_config.h"

namespace shoal::llm::internal {

// Fills config.rope. REQUIRES: head_dim and context are set.
Status ReadHfRope(const HfKeys& keys, ModelConfig& config);

}  // namespace shoal::llm::internal
