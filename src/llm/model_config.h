// ModelConfig: everything about a model but its weights, read from a GGUF file and checked, so that
// code which computes need not ask again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "llm/gguf_model.h"

namespace shoal::llm {

// As files call them. Mistral and Mixtral are "llama", the latter with experts.
enum class Architecture : std::uint8_t { kLlama, kQwen2, kQwen3, kQwen3Moe };
std::string_view Name(Architecture architecture);
std::ostream& operator<<(std::ostream& out, Architecture architecture);

// Which two numbers of a head are turned together.
enum class RopePairs : std::uint8_t {
  kNeighbours,  // 2i and 2i+1 (llama.cpp: NORM); the file's q and k rows are permuted for it.
  kHalves,      // i and i+dims/2 (llama.cpp: NEOX).
};

// How a model reaches beyond the context that it was trained with.
enum class RopeScaling : std::uint8_t { kNone, kLinear, kYarn };

// Position p turns pair i by p * base^(-2i/dims) / frequency_factors[i], then scaled.
struct RopeConfig {
  float base = 10000.0F;
  std::int64_t dims = 0;  // The first of each head, even; the rest passes.
  RopePairs pairs = RopePairs::kNeighbours;
  RopeScaling scaling = RopeScaling::kNone;
  float factor = 1.0F;                   // Linear, YaRN: the context is stretched by it.
  std::int64_t original_context = 0;     // YaRN: what the model was trained with.
  float attention_factor = 1.0F;         // YaRN: beside 1 + 0.1 ln(factor).
  float beta_fast = 32.0F;               // YaRN: turns within original_context between which
  float beta_slow = 1.0F;                //   frequencies pass from untouched to stretched.
  std::vector<float> frequency_factors;  // dims/2 of them (Llama 3.1 on), or none: all ones.
};

struct ModelConfig {
  Architecture architecture = Architecture::kLlama;
  std::int64_t layers = 0;
  std::int64_t dim = 0;  // Of the residual stream.
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  // Divides heads.
  std::int64_t head_dim = 0;  // heads * head_dim need not be dim.
  std::int64_t ff_dim = 0;    // Of a dense layer; not used if there are experts.
  std::int64_t experts = 0;   // 0: every layer is dense. Else every layer has them.
  std::int64_t experts_used = 0;
  std::int64_t expert_ff_dim = 0;
  bool separate_experts = false;  // Each has tensors of its own; else one has those of all.
  std::int64_t vocab = 0;
  std::int64_t context = 0;         // What the model was made for.
  std::int64_t sliding_window = 0;  // Attention looks back so far; 0: to the start.
  float rms_eps = 0.0F;
  bool tied_embeddings = false;  // The output matrix is the embedding.
  bool qkv_bias = false;
  bool qk_norm = false;  // Each head of q and k is normalised before it is turned.
  RopeConfig rope;

  std::int64_t q_dim() const { return heads * head_dim; }
  std::int64_t kv_dim() const { return kv_heads * head_dim; }
};

// kInvalidArgument: an architecture or a kind of RoPE that we do not have; the message names it and
// those that we do. kNotFound, kCorruption: a key or tensor is missing, or is not what the others
// say. Every tensor's shape is checked (model_tensors.h): unknown ones are refused, because a model
// that has them does not compute what we would.
Result<ModelConfig> ReadModelConfig(const GgufModel& model);

// Keys and values of one token in all layers, as F16.
std::int64_t KvBytesPerToken(const ModelConfig& config);

}  // namespace shoal::llm
