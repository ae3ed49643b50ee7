// Model files for benchmarks: mapped, and loaded into an engine.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/parallel.h"
#include "base/status.h"
#include "llm/engine.h"
#include "llm/gguf_model.h"
#include "llm/model_config.h"
#include "llm/model_weights.h"
#include "os/mapped_file.h"

namespace shoal::bench {

struct OpenedModel {
  os::MappedFile mapping;
  llm::GgufModel model;
  llm::ModelConfig config;
  llm::ModelWeights weights;
};

Result<OpenedModel> OpenModelFile(const std::string& path);

// `model` and `parallel` must outlive the engine.
Result<std::unique_ptr<llm::Engine>> LoadEngine(const OpenedModel& model, std::size_t context,
                                                Parallel& parallel);

}  // namespace shoal::bench
