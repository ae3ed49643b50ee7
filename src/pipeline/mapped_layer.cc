#include "pipeline/mapped_layer.h"

#include <utility>

#include "llm/layer_file.h"

namespace shoal::pipeline {

Result<std::shared_ptr<const llm::Layer>> MapLayer(std::shared_ptr<const LayerBytes> bytes,
                                                   const llm::ModelConfig& config) {
  struct Mapped {
    std::shared_ptr<const LayerBytes> bytes;
    llm::Layer layer;
  };
  const auto mapped = std::make_shared<Mapped>();
  mapped->bytes = std::move(bytes);
  SHOAL_ASSIGN_OR_RETURN(mapped->layer, llm::ReadLayer("layer", mapped->bytes->bytes(), config));
  return std::shared_ptr<const llm::Layer>(mapped, &mapped->layer);
}

}  // namespace shoal::pipeline
