#include "bench/llm_files.h"

#include <utility>
#include <vector>

#include "llm/gguf.h"

namespace shoal::bench {

Result<OpenedModel> OpenModelFile(const std::string& path) {
  SHOAL_ASSIGN_OR_RETURN(os::MappedFile mapping, os::MappedFile::Open(path));
  SHOAL_ASSIGN_OR_RETURN(llm::GgufFile file, llm::GgufFile::Parse(path, mapping.bytes()));
  std::vector<llm::GgufFile> parts;
  parts.push_back(std::move(file));
  SHOAL_ASSIGN_OR_RETURN(llm::GgufModel model, llm::GgufModel::Make(std::move(parts)));
  SHOAL_ASSIGN_OR_RETURN(llm::ModelConfig config, llm::ReadModelConfig(model));
  llm::ModelWeights weights = llm::WeightsOf(model);
  weights.OnCopied(os::DropPages);
  return OpenedModel{std::move(mapping), std::move(model), std::move(config), std::move(weights)};
}

Result<std::unique_ptr<llm::Engine>> LoadEngine(const OpenedModel& model, std::size_t context,
                                                Parallel& parallel) {
  return llm::Engine::Load(model.weights, model.config, {.context = context}, parallel);
}

}  // namespace shoal::bench
