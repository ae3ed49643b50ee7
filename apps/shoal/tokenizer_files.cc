#include "shoal/tokenizer_files.h"

#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "llm/gguf.h"
#include "llm/gguf_model.h"
#include "llm/gguf_vocabulary.h"
#include "llm/sentencepiece_model.h"
#include "llm/tokenizer_json.h"
#include "os/file.h"
#include "os/mapped_file.h"
#include "shoal/model_files.h"

namespace shoal {
namespace {

// A file of one of the two kinds, with what is beside it.
Result<llm::Vocabulary> ReadHf(const std::filesystem::path& file) {
  const std::filesystem::path path = file.parent_path();
  const std::string name = file.string();
  SHOAL_ASSIGN_OR_RETURN(
      const std::string config,
      ReadIfThere((path / "tokenizer_config.json").string(), llm::kMaxTokenizerJsonBytes));
  const bool json = file.extension() == ".json";
  SHOAL_ASSIGN_OR_RETURN(
      const std::string tokenizer,
      os::ReadFile(name, json ? llm::kMaxTokenizerJsonBytes : llm::kMaxSentencePieceBytes));
  SHOAL_ASSIGN_OR_RETURN(
      llm::Vocabulary vocabulary,
      json ? llm::ReadTokenizerJson(name, tokenizer, config)
           : llm::ReadSentencePieceModel(name, std::as_bytes(std::span(tokenizer)), config));
  // Newer repositories keep the template apart.
  SHOAL_ASSIGN_OR_RETURN(
      const std::string chat_template,
      ReadIfThere((path / "chat_template.jinja").string(), llm::kMaxTokenizerJsonBytes));
  if (!chat_template.empty()) vocabulary.chat_template = chat_template;
  return vocabulary;
}

Result<llm::Vocabulary> ReadFolder(const std::filesystem::path& folder) {
  std::error_code error;
  for (const char* name : {"tokenizer.json", "tokenizer.model"}) {
    if (std::filesystem::exists(folder / name, error)) return ReadHf(folder / name);
  }
  return Status(Code::kNotFound, folder.string() +
                                     ": has neither tokenizer.json nor tokenizer.model; "
                                     "--tokenizer can name another place");
}

Result<llm::Vocabulary> ReadGguf(const std::string& path) {
  // Of a model in parts, the first has the metadata.
  SHOAL_ASSIGN_OR_RETURN(const std::vector<std::string> parts, llm::GgufPartPaths(path));
  SHOAL_ASSIGN_OR_RETURN(const os::MappedFile mapping, os::MappedFile::Open(parts.front()));
  SHOAL_ASSIGN_OR_RETURN(const llm::GgufFile file,
                         llm::GgufFile::Parse(parts.front(), mapping.bytes()));
  return llm::ReadGgufVocabulary(file.metadata());
}

Result<llm::Vocabulary> ReadVocabulary(const std::string& path) {
  if (const std::optional<std::string> folder = HfFolder(path)) return ReadFolder(*folder);
  if (path.ends_with(".json") || path.ends_with(".model")) return ReadHf(path);
  return ReadGguf(path);
}

}  // namespace

Result<llm::Tokenizer> OpenTokenizer(const std::string& model) {
  SHOAL_ASSIGN_OR_RETURN(llm::Vocabulary vocabulary, ReadVocabulary(model));
  Result<llm::Tokenizer> tokenizer = llm::Tokenizer::Create(std::move(vocabulary));
  if (!tokenizer.ok()) return std::move(tokenizer).status().Annotate(model);
  return tokenizer;
}

}  // namespace shoal
