#include "shoal/model_files.h"

#include "llm/gguf.h"

namespace shoal {

Result<MappedModel> OpenGguf(const std::string& path) {
  SHOAL_ASSIGN_OR_RETURN(const std::vector<std::string> paths, llm::GgufPartPaths(path));
  std::vector<os::MappedFile> mappings;
  std::vector<llm::GgufFile> parts;
  for (const std::string& part : paths) {
    SHOAL_ASSIGN_OR_RETURN(os::MappedFile mapping, os::MappedFile::Open(part));
    SHOAL_ASSIGN_OR_RETURN(llm::GgufFile file, llm::GgufFile::Parse(part, mapping.bytes()));
    mappings.push_back(std::move(mapping));
    parts.push_back(std::move(file));
  }
  SHOAL_ASSIGN_OR_RETURN(llm::GgufModel model, llm::GgufModel::Make(std::move(parts)));
  return MappedModel{std::move(mappings), std::move(model)};
}

Result<OpenedModel> OpenModel(const std::string& path) {
  SHOAL_ASSIGN_OR_RETURN(MappedModel mapped, OpenGguf(path));
  OpenedModel opened;
  SHOAL_ASSIGN_OR_RETURN(opened.config, ReadModelConfig(mapped.model));
  SHOAL_ASSIGN_OR_RETURN(const std::string_view name,
                         mapped.model.metadata().GetStringOr("general.name", ""));
  opened.name = std::string(name);
  opened.weights = WeightsOf(mapped.model);
  opened.mappings = std::move(mapped.mappings);
  return opened;
}

}  // namespace shoal
