#include "shoal/model_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "llm/gguf.h"
#include "llm/hf_config.h"
#include "llm/hf_model.h"
#include "llm/safetensors.h"
#include "os/file.h"

namespace shoal {
namespace {

// An index names some hundred thousand tensors at most.
constexpr std::size_t kIndexBytesMax = std::size_t{64} << 20U;

// All of the index `path`.
Result<std::vector<std::string>> IndexedFiles(const std::string& path) {
  SHOAL_ASSIGN_OR_RETURN(const std::string text, ReadIfThere(path, kIndexBytesMax));
  if (text.empty()) return std::vector<std::string>();
  SHOAL_ASSIGN_OR_RETURN(std::vector<std::string> files, llm::ReadSafetensorsIndex(path, text));
  for (std::string& file : files) {
    file = (std::filesystem::path(path).parent_path() / file).string();
  }
  return files;
}

// The safetensors files of a model of which `path` is the folder, the index or one of them.
Result<std::vector<std::string>> HfFiles(const std::filesystem::path& folder,
                                         const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    SHOAL_ASSIGN_OR_RETURN(std::vector<std::string> files,
                           IndexedFiles((folder / "model.safetensors.index.json").string()));
    if (files.empty()) files.push_back((folder / "model.safetensors").string());
    return files;
  }
  if (path.ends_with(".json")) return IndexedFiles(path);
  // One part of several stands for all.
  SHOAL_ASSIGN_OR_RETURN(std::vector<std::string> files,
                         IndexedFiles((folder / "model.safetensors.index.json").string()));
  const std::string name = std::filesystem::path(path).filename().string();
  const bool part = std::any_of(files.begin(), files.end(), [&](const std::string& file) {
    return std::filesystem::path(file).filename() == name;
  });
  return part ? files : std::vector<std::string>{path};
}

Result<OpenedModel> OpenHf(const std::string& folder, const std::string& path) {
  const std::filesystem::path root(folder);
  const std::string config_path = (root / "config.json").string();
  SHOAL_ASSIGN_OR_RETURN(const std::string text, os::ReadFile(config_path, llm::kMaxHfConfigBytes));
  SHOAL_ASSIGN_OR_RETURN(
      const std::string quantize,
      ReadIfThere((root / "quantize_config.json").string(), llm::kMaxHfConfigBytes));
  SHOAL_ASSIGN_OR_RETURN(const llm::HfConfig config,
                         llm::ReadHfConfig(config_path, text, quantize));
  SHOAL_ASSIGN_OR_RETURN(const std::vector<std::string> paths, HfFiles(root, path));
  OpenedModel opened;
  opened.files = paths;
  opened.files.push_back(config_path);
  if (!quantize.empty()) opened.files.push_back((root / "quantize_config.json").string());
  std::vector<llm::SafetensorsFile> files;
  for (const std::string& file_path : paths) {
    SHOAL_ASSIGN_OR_RETURN(os::MappedFile mapping, os::MappedFile::Open(file_path));
    SHOAL_ASSIGN_OR_RETURN(llm::SafetensorsFile file,
                           llm::SafetensorsFile::Parse(file_path, mapping.bytes()));
    opened.mappings.push_back(std::move(mapping));
    files.push_back(std::move(file));
  }
  SHOAL_ASSIGN_OR_RETURN(llm::HfModel model, llm::MakeHfModel(folder, config, files));
  opened.config = std::move(model.config);
  opened.weights = std::move(model.weights);
  opened.weights.OnCopied(os::DropPages);
  return opened;
}

}  // namespace

Result<std::string> ReadIfThere(const std::string& path, std::size_t bytes_max) {
  Result<std::string> text = os::ReadFile(path, bytes_max);
  if (!text.ok() && text.status().code() == Code::kNotFound) return std::string();
  return text;
}

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
  return MappedModel{std::move(mappings), paths, std::move(model)};
}

std::optional<std::string> HfFolder(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return path;
  if (!path.ends_with(".safetensors") && !path.ends_with(".safetensors.index.json")) {
    return std::nullopt;
  }
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

Result<OpenedModel> OpenModel(const std::string& path) {
  if (const std::optional<std::string> folder = HfFolder(path)) return OpenHf(*folder, path);
  SHOAL_ASSIGN_OR_RETURN(MappedModel mapped, OpenGguf(path));
  OpenedModel opened;
  SHOAL_ASSIGN_OR_RETURN(opened.config, ReadModelConfig(mapped.model));
  SHOAL_ASSIGN_OR_RETURN(const std::string_view name,
                         mapped.model.metadata().GetStringOr("general.name", ""));
  opened.name = std::string(name);
  opened.weights = WeightsOf(mapped.model);
  opened.weights.OnCopied(os::DropPages);
  opened.mappings = std::move(mapped.mappings);
  opened.files = std::move(mapped.files);
  return opened;
}

}  // namespace shoal
