#include "shoal/pull_choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>

namespace shoal {
namespace {

// One GGUF model of a repository: a file, or the parts of a split one.
struct Model {
  std::string stem;  // Its path without ".gguf" and without "-00001-of-00003".
  std::vector<RemoteFile> files;

  std::uint64_t size() const {
    std::uint64_t sum = 0;
    for (const RemoteFile& file : files) sum += file.size;
    return sum;
  }
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::string_view NameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool IsGguf(const RemoteFile& file) { return Lower(file.path).ends_with(".gguf"); }

// "-00001-of-00003" at the end, which llama.cpp gives to the parts of a split model.
std::string_view WithoutPart(std::string_view stem) {
  constexpr std::string_view kPattern = "-#####-of-#####";
  if (stem.size() <= kPattern.size()) return stem;
  const std::string_view end = stem.substr(stem.size() - kPattern.size());
  for (std::size_t i = 0; i < end.size(); ++i) {
    const bool fits = kPattern[i] == '#' ? std::isdigit(static_cast<unsigned char>(end[i])) != 0
                                         : end[i] == kPattern[i];
    if (!fits) return stem;
  }
  return stem.substr(0, stem.size() - kPattern.size());
}

std::string_view StemOf(std::string_view path) {
  return WithoutPart(path.substr(0, path.size() - std::string_view(".gguf").size()));
}

// Sorted by size. The projectors of models that see are no models by themselves.
std::vector<Model> ModelsIn(const std::vector<RemoteFile>& files) {
  std::map<std::string, Model> by_stem;
  for (const RemoteFile& file : files) {
    if (!IsGguf(file) || Lower(NameOf(file.path)).find("mmproj") != std::string::npos) continue;
    Model& model = by_stem[std::string(StemOf(file.path))];
    model.stem = StemOf(file.path);
    model.files.push_back(file);
  }
  std::vector<Model> models;
  for (auto& [stem, model] : by_stem) {
    std::sort(model.files.begin(), model.files.end(),
              [](const RemoteFile& a, const RemoteFile& b) { return a.path < b.path; });
    models.push_back(std::move(model));
  }
  std::stable_sort(models.begin(), models.end(),
                   [](const Model& a, const Model& b) { return a.size() < b.size(); });
  return models;
}

// Whether `word` stands in `stem` by itself: Q4_K is not in model-Q4_K_M.
bool HasWord(const std::string& stem, const std::string& word) {
  const auto ends = [](char c, bool underscore) {
    return c == '-' || c == '.' || c == '/' || (underscore && c == '_');
  };
  for (std::size_t at = stem.find(word); at != std::string::npos; at = stem.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || ends(stem[at - 1], true)) && (end == stem.size() || ends(stem[end], false))) {
      return true;
    }
  }
  return false;
}

Choice ChoiceOf(const Model& model) {
  Choice choice;
  choice.files = model.files;
  if (model.files.size() > 1) choice.folder = NameOf(model.stem);
  return choice;
}

// From the one most people take to those that lose more or are larger.
constexpr std::array kSuggestions = {"q4_k_m", "q4_k_xl", "q4_0", "q4_k_s", "q5_k_m",
                                     "q6_k",   "q8_0",    "f16",  "bf16"};

// The word of the stem to write after the colon: a quantisation, else the file's name.
std::string SelectorOf(const Model& model) {
  const std::string stem = Lower(model.stem);
  for (const char* word : kSuggestions) {
    const std::size_t at = stem.rfind(word);
    if (HasWord(stem, word) && at != std::string::npos) {
      return model.stem.substr(at, std::string_view(word).size());
    }
  }
  return model.files.front().path;
}

Status Several(const RepositoryId& id, const std::vector<Model>& models) {
  std::string text = id.ToString() + " has several models" +
                     (id.file.empty() ? "" : " that match " + id.file) + "; choose one:\n";
  for (const Model& model : models) {
    const std::string parts =
        model.files.size() > 1 ? fmt::format("  ({} parts)", model.files.size()) : "";
    text +=
        fmt::format("  {:>10}  {}{}\n", BytesText(model.size()), model.files.front().path, parts);
  }
  const Model* suggested = &models.front();
  for (const char* word : kSuggestions) {
    const auto found = std::find_if(models.begin(), models.end(), [&](const Model& model) {
      return HasWord(Lower(model.stem), word);
    });
    if (found == models.end()) continue;
    suggested = &*found;
    break;
  }
  std::string selector = SelectorOf(*suggested);
  const auto matches = std::count_if(models.begin(), models.end(), [&](const Model& model) {
    return HasWord(Lower(model.stem), Lower(selector));
  });
  if (matches > 1) selector = suggested->files.front().path;
  return {Code::kInvalidArgument,
          text + fmt::format("for example: shoal pull {}:{}", id.ToString(), selector)};
}

std::string NamesOf(const std::vector<Model>& models) {
  std::string names;
  for (const Model& model : models) {
    names += (names.empty() ? "" : ", ") + std::string(NameOf(model.files.front().path));
    if (names.size() > 600) return names + ", …";
  }
  return names;
}

Result<Choice> ChooseNamed(const RepositoryId& id, const std::vector<RemoteFile>& files) {
  const std::vector<Model> models = ModelsIn(files);
  for (const bool whole_path : {true, false}) {
    for (const RemoteFile& file : files) {
      if (id.file != (whole_path ? std::string_view(file.path) : NameOf(file.path))) continue;
      for (const Model& model : models) {
        if (IsGguf(file) && model.stem == StemOf(file.path)) return ChoiceOf(model);
      }
      return Choice{.folder = {}, .files = {file}};
    }
  }
  std::vector<Model> matching;
  for (const Model& model : models) {
    if (HasWord(Lower(model.stem), Lower(id.file))) matching.push_back(model);
  }
  if (matching.size() == 1) return ChoiceOf(matching.front());
  if (matching.size() > 1) return Several(id, matching);
  return Status(Code::kNotFound,
                id.ToString() + " has no file or quantisation called " + id.file +
                    (models.empty() ? "; it has no GGUF" : "; it has " + NamesOf(models)));
}

// What programs that load safetensors read, all at the top of the repository.
bool BelongsToSafetensors(std::string_view path) {
  constexpr std::array<std::string_view, 14> kNames = {"config.json",
                                                       "generation_config.json",
                                                       "tokenizer.json",
                                                       "tokenizer_config.json",
                                                       "tokenizer.model",
                                                       "special_tokens_map.json",
                                                       "added_tokens.json",
                                                       "vocab.json",
                                                       "vocab.txt",
                                                       "merges.txt",
                                                       "chat_template.jinja",
                                                       "chat_template.json",
                                                       "quantize_config.json",
                                                       "quant_config.json"};
  if (path.find('/') != std::string_view::npos) return false;
  return path.ends_with(".safetensors") || path.ends_with(".safetensors.index.json") ||
         std::find(kNames.begin(), kNames.end(), path) != kNames.end();
}

std::optional<Choice> SafetensorsIn(const RepositoryId& id, const std::vector<RemoteFile>& files) {
  Choice choice{.folder = id.name, .files = {}};
  bool consolidated = false;
  bool others = false;
  for (const RemoteFile& file : files) {
    if (!BelongsToSafetensors(file.path)) continue;
    choice.files.push_back(file);
    if (!file.path.ends_with(".safetensors")) continue;
    (file.path.starts_with("consolidated") ? consolidated : others) = true;
  }
  if (!consolidated && !others) return std::nullopt;
  if (consolidated && others) {  // Mistral's: the same weights twice.
    std::erase_if(choice.files,
                  [](const RemoteFile& file) { return file.path.starts_with("consolidated"); });
  }
  return choice;
}

}  // namespace

Result<Choice> ChooseFiles(const RepositoryId& id, const std::vector<RemoteFile>& files) {
  if (!id.file.empty()) return ChooseNamed(id, files);
  const std::vector<Model> models = ModelsIn(files);
  if (models.size() == 1) return ChoiceOf(models.front());
  if (models.size() > 1) return Several(id, models);
  if (auto choice = SafetensorsIn(id, files)) return *std::move(choice);
  return Status(Code::kNotFound,
                fmt::format("{} has neither a GGUF nor a safetensors file among its {} files",
                            id.ToString(), files.size()));
}

std::string BytesText(std::uint64_t bytes) {
  const auto number = static_cast<double>(bytes);
  if (bytes >= 1'000'000'000) return fmt::format("{:.2f} GB", number * 1e-9);
  if (bytes >= 100'000) return fmt::format("{:.1f} MB", number * 1e-6);
  return fmt::format("{} bytes", bytes);
}

}  // namespace shoal
