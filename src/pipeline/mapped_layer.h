// MapLayer: a layer that computes on the bytes of its file, and holds them.
#pragma once

#include <memory>

#include "base/status.h"
#include "llm/layer.h"
#include "llm/model_config.h"
#include "pipeline/layer_store.h"

namespace shoal::pipeline {

// kCorruption: the bytes are not a layer of such a model.
Result<std::shared_ptr<const llm::Layer>> MapLayer(std::shared_ptr<const LayerBytes> bytes,
                                                   const llm::ModelConfig& config);

}  // namespace shoal::pipeline
