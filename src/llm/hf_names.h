// The names that Hugging Face checkpoints have for the tensors of llama-like models.
#pragma once

#include <string>
#include <string_view>

namespace shoal::llm {

// What GGUF calls it: "model.layers.3.self_attn.q_proj.weight" is "blk.3.attn_q.weight", and
// "model.layers.3.mlp.experts.7.up_proj.weight" is "blk.3.ffn_up.7.weight". The part after the last
// dot stays as it is. Names that we do not know come back unchanged, so that messages have them.
std::string GgufNameOf(std::string_view name);

}  // namespace shoal::llm
