// The files of a language model, mapped.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "llm/gguf_model.h"
#include "os/mapped_file.h"

namespace shoal {

// A model with the mappings that it refers to.
struct MappedModel {
  std::vector<os::MappedFile> mappings;
  llm::GgufModel model;
};

// Opens all parts of the model of which `path` is one.
Result<MappedModel> OpenModel(const std::string& path);

}  // namespace shoal
