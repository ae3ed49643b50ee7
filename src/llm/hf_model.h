// A model as Hugging Face has them: config.json and the tensors of safetensors files, with floats
// or with the 4-bit integers of GPTQ and AWQ.
#pragma once

#include <span>
#include <string>

#include "base/status.h"
#include "llm/hf_config.h"
#include "llm/model_config.h"
#include "llm/model_weights.h"
#include "llm/safetensors.h"

namespace shoal::llm {

// Refers to the mappings of its files, as they do.
struct HfModel {
  ModelConfig config;
  ModelWeights weights;
};

// `name` is for messages, `files` are all of the model's. kInvalidArgument: a tensor that we do not
// have, or of a kind that we cannot compute with. kNotFound, kCorruption: one is missing, there
// twice, or is not what the configuration says. Nothing is converted yet: LoadMatrix does that.
Result<HfModel> MakeHfModel(std::string name, const HfConfig& config,
                            std::span<const SafetensorsFile> files);

}  // namespace shoal::llm
