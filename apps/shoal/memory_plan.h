// Whether a language model fits into the memory that is free, asked before any of it is taken: a
// phone that runs out does not fail an allocation, it ends the program.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "kernels/kv_rows.h"
#include "llm/model_config.h"
#include "llm/model_weights.h"

namespace shoal {

struct MemoryNeeds {
  std::uint64_t fixed = 0;        // Weights and what computing takes.
  std::uint64_t kv_page = 0;      // Keys and values of llm::kPagePositions tokens.
  std::size_t model_context = 0;  // What the model was made for.
};

// REQUIRES: kernels::CanKeep(kv, config.head_dim).
MemoryNeeds NeedsOf(const llm::ModelWeights& weights, const llm::ModelConfig& config,
                    kernels::KvType kv);

// Tokens to keep in mind: as many as are asked for; if that is 0, as many of the model's as
// `free_bytes` hold. kResourceExhausted: they do not hold those asked for, or too few to be of use.
Result<std::size_t> PlanContext(const MemoryNeeds& needs, std::size_t asked,
                                std::uint64_t free_bytes);

}  // namespace shoal
