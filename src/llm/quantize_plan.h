// Which type each tensor of a model gets when the model is made smaller. A pure decision; `shoal
// quantize` carries it out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "llm/gguf_model.h"
#include "llm/gguf_writer.h"
#include "llm/model_config.h"
#include "llm/model_tensors.h"
#include "tensor/dtype.h"

namespace shoal::llm {

// A kind of file, by the name that people know: "Q4_K_M" is not one type but a mixture.
struct Mixture {
  std::string_view name;
  DType base;               // Of most matrices.
  DType output;             // Of the output matrix, or of the embedding if it is both.
  DType sensitive;          // Of attn_v and ffn_down in the layers where it counts most.
  std::uint32_t file_type;  // What "general.file_type" says.
};

// By name, whatever the case. kInvalidArgument: no such mixture; the message lists them.
Result<Mixture> FindMixture(std::string_view name);

// The type of a tensor of a model in F32 that becomes such a file. Vectors, and the routers of
// experts, stay as they are. A tensor whose rows are no whole blocks of the wanted type gets one
// with smaller blocks.
DType TypeIn(const Mixture& mixture, const TensorSpec& tensor, const ModelConfig& config);

// A tensor of the model and its new type. The same as before: its bytes are copied.
struct PlannedTensor {
  const GgufTensor* tensor;  // Of the model that was planned for.
  DType dtype;
};

// In the order of the model. One that is quantised already stays unless the new type is smaller:
// bits that are gone do not come back.
// kInvalidArgument: nothing would change.
Result<std::vector<PlannedTensor>> PlanQuantization(const GgufModel& model,
                                                    const ModelConfig& config,
                                                    const Mixture& mixture);

// The header of the new file: the model's metadata, but for what is no longer true.
GgufWriter QuantizedHeader(const GgufModel& model, const Mixture& mixture,
                           const std::vector<PlannedTensor>& plan);

}  // namespace shoal::llm
