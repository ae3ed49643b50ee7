#include "shoal/tokenizer_files.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "llm/gguf.h"
#include "llm/gguf_model.h"
#include "llm/gguf_vocabulary.h"
#include "llm/tokenizer_json.h"
#include "os/file.h"
#include "os/mapped_file.h"

namespace shoal {
namespace {

// Empty if there is no such file.
Result<std::string> ReadIfThere(const std::string& path) {
  Result<std::string> text = os::ReadFile(path, llm::kMaxTokenizerJsonBytes);
  if (!text.ok() && text.status().code() == Code::kNotFound) return std::string();
  return text;
}

Result<llm::Vocabulary> ReadFolder(const std::string& folder) {
  const std::filesystem::path path(folder);
  const std::string tokenizer_path = (path / "tokenizer.json").string();
  SHOAL_ASSIGN_OR_RETURN(const std::string tokenizer,
                         os::ReadFile(tokenizer_path, llm::kMaxTokenizerJsonBytes));
  SHOAL_ASSIGN_OR_RETURN(const std::string config,
                         ReadIfThere((path / "tokenizer_config.json").string()));
  SHOAL_ASSIGN_OR_RETURN(llm::Vocabulary vocabulary,
                         llm::ReadTokenizerJson(tokenizer_path, tokenizer, config));
  // Newer repositories keep the template apart.
  SHOAL_ASSIGN_OR_RETURN(const std::string chat_template,
                         ReadIfThere((path / "chat_template.jinja").string()));
  if (!chat_template.empty()) vocabulary.chat_template = chat_template;
  return vocabulary;
}

Result<llm::Vocabulary> ReadGguf(const std::string& path) {
  // Of a model in parts, the first has the metadata.
  SHOAL_ASSIGN_OR_RETURN(const std::vector<std::string> parts, llm::GgufPartPaths(path));
  SHOAL_ASSIGN_OR_RETURN(const os::MappedFile mapping, os::MappedFile::Open(parts.front()));
  SHOAL_ASSIGN_OR_RETURN(const llm::GgufFile file,
                         llm::GgufFile::Parse(parts.front(), mapping.bytes()));
  return llm::ReadGgufVocabulary(file.metadata());
}

}  // namespace

Result<llm::Tokenizer> OpenTokenizer(const std::string& model) {
  std::error_code error;
  const bool folder = std::filesystem::is_directory(model, error);
  SHOAL_ASSIGN_OR_RETURN(llm::Vocabulary vocabulary, folder ? ReadFolder(model) : ReadGguf(model));
  Result<llm::Tokenizer> tokenizer = llm::Tokenizer::Create(std::move(vocabulary));
  if (!tokenizer.ok()) return std::move(tokenizer).status().Annotate(model);
  return tokenizer;
}

}  // namespace shoal
