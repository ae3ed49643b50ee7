// The files of a language model, mapped.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "llm/gguf_model.h"
#include "llm/model_config.h"
#include "llm/model_weights.h"
#include "os/mapped_file.h"

namespace shoal {

// The text of a file that a model may have beside it; empty if there is none.
Result<std::string> ReadIfThere(const std::string& path, std::size_t bytes_max);

// A model with the mappings that it refers to.
struct MappedModel {
  std::vector<os::MappedFile> mappings;
  std::vector<std::string> files;  // Of the mappings.
  llm::GgufModel model;
};

// Opens all parts of the model of which `path` is one.
Result<MappedModel> OpenGguf(const std::string& path);

// A model of any format, with the mappings that it refers to.
struct OpenedModel {
  std::vector<os::MappedFile> mappings;
  std::vector<std::string> files;  // All that it was read from.
  std::string name;                // What the model calls itself; may be empty.
  llm::ModelConfig config;
  llm::ModelWeights weights;
};

// `path`: a GGUF file, or any part of one; or a folder as Hugging Face has them, or a file
// .safetensors or .safetensors.index.json in it.
Result<OpenedModel> OpenModel(const std::string& path);

// The folder of a model of Hugging Face, if `path` is it or a file in it as above.
std::optional<std::string> HfFolder(const std::string& path);

}  // namespace shoal
