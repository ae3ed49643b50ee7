#include "llm/tokenizer_json.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "llm/json_fields_internal.h"
#include "llm/pre_tokenizer.h"
#include "llm/token_index.h"

namespace shoal::llm {
namespace {

using internal::AsBool;
using internal::AsString;
using internal::Field;
using internal::Json;

Status Error(std::string what) { return Status(Code::kInvalidArgument, std::move(what)); }

bool IsType(const Json& part, std::string_view type) {
  const std::string* name = AsString(Field(part, "type"));
  return name != nullptr && *name == type;
}

std::string TypeName(const Json& part) {
  const std::string* name = AsString(Field(part, "type"));
  return name == nullptr ? "without a type" : Quoted(*name);
}

// The parts of a "Sequence" (whose list has a name that differs from kind to kind), or `part`
// alone; none if it is null. One level: sequences in sequences do not occur.
std::vector<const Json*> Sequence(const Json& part, std::string_view list) {
  std::vector<const Json*> parts;
  if (IsType(part, "Sequence")) {
    for (const Json& each : Field(part, list)) parts.push_back(&each);
  } else if (!part.is_null()) {
    parts.push_back(&part);
  }
  return parts;
}

// Puts tokens at their ids; holes stay empty.
class TokenPlacer {
 public:
  // `count` is how many tokens the file has. Ids a little beyond it occur: there are files with
  // holes. Far beyond, they would only cost memory.
  TokenPlacer(Vocabulary& vocabulary, std::size_t count)
      : vocabulary_(vocabulary), ids_max_(std::min(kMaxTokens, 2 * count + 1024)) {}

  Status Place(const std::string& text, const Json& id, TokenType type) {
    const auto* number = id.get_ptr<const Json::number_unsigned_t*>();
    if (number == nullptr || *number >= ids_max_) {
      const std::string found = number == nullptr ? id.type_name() : std::to_string(*number);
      return Error("token " + Quoted(text) + " has the id " + found + "; ids are 0 to " +
                   std::to_string(ids_max_ - 1));
    }
    const auto at = static_cast<std::size_t>(*number);
    if (at >= vocabulary_.tokens.size()) {
      vocabulary_.tokens.resize(at + 1);
      vocabulary_.types.resize(at + 1, TokenType::kUnused);
    }
    std::string& token = vocabulary_.tokens[at];
    if (!token.empty() && token != text) {
      return Error("tokens " + Quoted(token) + " and " + Quoted(text) + " both have the id " +
                   std::to_string(at));
    }
    token = text;
    vocabulary_.types[at] = type;
    return Status();
  }

 private:
  Vocabulary& vocabulary_;
  std::size_t ids_max_;
};

TokenType TypeOf(const std::string& text, bool byte_fallback) {
  const bool byte = text.size() == 6 && text.starts_with("<0x") && text.ends_with('>');
  return byte && byte_fallback ? TokenType::kByte : TokenType::kNormal;
}

Status PlaceAddedTokens(const Json& added, TokenPlacer& placer, Vocabulary& vocabulary) {
  for (const Json& token : added) {
    const std::string* text = AsString(Field(token, "content"));
    if (text == nullptr || text->empty()) return Error("added_tokens: one has no content");
    const bool special = AsBool(Field(token, "special")).value_or(false);
    SHOAL_RETURN_IF_ERROR(placer.Place(*text, Field(token, "id"),
                                       special ? TokenType::kControl : TokenType::kUserDefined));
    const auto id = Field(token, "id").get<TokenId>();
    if (AsBool(Field(token, "lstrip")).value_or(false)) vocabulary.strip_left.push_back(id);
    if (AsBool(Field(token, "rstrip")).value_or(false)) vocabulary.strip_right.push_back(id);
  }
  return Status();
}

Status ReadTokens(const Json& root, Vocabulary& vocabulary) {
  const Json& model = Field(root, "model");
  const Json& vocab = Field(model, "vocab");
  const Json& added = Field(root, "added_tokens");
  if (!vocab.is_object()) return Error("model.vocab is not an object");
  if (!added.is_null() && !added.is_array()) return Error("added_tokens is not a list");
  const bool byte_fallback = AsBool(Field(model, "byte_fallback")).value_or(false);
  TokenPlacer placer(vocabulary, vocab.size() + added.size());
  for (const auto& [text, id] : vocab.items()) {
    SHOAL_RETURN_IF_ERROR(placer.Place(text, id, TypeOf(text, byte_fallback)));
  }
  return PlaceAddedTokens(added, placer, vocabulary);
}

Result<Merge> ReadMerge(const TokenIndex& index, const Json& merge, std::size_t number) {
  if (const std::string* text = AsString(merge)) return ParseMerge(index, *text, number);
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return FindMerge(index, *AsString(merge[0]), *AsString(merge[1]), number);
  }
  return Error("merge " + std::to_string(number) + " is neither a text nor two");
}

Status ReadMerges(const Json& merges, Vocabulary& vocabulary) {
  if (!merges.is_array()) return Error("model.merges is not a list");
  if (merges.size() > kMaxMerges) {
    return Error(std::to_string(merges.size()) + " merges; the limit is " +
                 std::to_string(kMaxMerges));
  }
  SHOAL_ASSIGN_OR_RETURN(const TokenIndex index, TokenIndex::Make(vocabulary.tokens));
  vocabulary.merges.reserve(merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(const Merge merge, ReadMerge(index, merges[i], i));
    vocabulary.merges.push_back(merge);
  }
  return Status();
}

// The steps of a byte-level pre-tokenizer, in the words of NamePreTokenizer.
Result<std::vector<std::string>> PreTokenizerSteps(const Json& pre_tokenizer) {
  std::vector<std::string> steps;
  for (const Json* part : Sequence(pre_tokenizer, "pretokenizers")) {
    if (IsType(*part, "ByteLevel")) {
      if (AsBool(Field(*part, "add_prefix_space")).value_or(false)) {
        return Error("pre_tokenizer ByteLevel with add_prefix_space is not supported");
      }
      if (AsBool(Field(*part, "use_regex")).value_or(true)) steps.emplace_back("gpt2");
    } else if (IsType(*part, "Digits") &&
               AsBool(Field(*part, "individual_digits")).value_or(false)) {
      steps.emplace_back("digits");
    } else if (const std::string* regex = AsString(Field(Field(*part, "pattern"), "Regex"));
               IsType(*part, "Split") && regex != nullptr) {
      steps.push_back(*regex);
    } else {
      return Error("pre_tokenizer " + TypeName(*part) + " is not supported");
    }
  }
  return steps;
}

Status ReadBytePairs(const Json& root, Vocabulary& vocabulary) {
  vocabulary.model = TokenModel::kBytePairs;
  SHOAL_ASSIGN_OR_RETURN(const std::vector<std::string> steps,
                         PreTokenizerSteps(Field(root, "pre_tokenizer")));
  SHOAL_ASSIGN_OR_RETURN(vocabulary.pre_tokenizer, NamePreTokenizer(steps));
  vocabulary.ignore_merges = AsBool(Field(Field(root, "model"), "ignore_merges")).value_or(false);
  for (const Json* part : Sequence(Field(root, "normalizer"), "normalizers")) {
    if (!IsType(*part, "NFC")) return Error("normalizer " + TypeName(*part) + " is not supported");
    vocabulary.compose = true;
  }
  return Status();
}

// Spaces become ▁ either in the normaliser or in a pre-tokenizer called Metaspace, and either may
// put one in front of the text.
Status ReadSentencePieces(const Json& root, Vocabulary& vocabulary) {
  vocabulary.model = TokenModel::kSentencePiece;
  for (const Json* part : Sequence(Field(root, "normalizer"), "normalizers")) {
    if (IsType(*part, "Prepend")) {
      vocabulary.add_space_prefix = true;
    } else if (!IsType(*part, "Replace")) {
      return Error("normalizer " + TypeName(*part) + " is not supported with byte_fallback");
    }
  }
  const Json& words = Field(root, "pre_tokenizer");
  if (IsType(words, "Metaspace")) {
    const std::string* scheme = AsString(Field(words, "prepend_scheme"));
    const bool never = scheme != nullptr && *scheme == "never";
    if (!never && AsBool(Field(words, "add_prefix_space")).value_or(true)) {
      vocabulary.add_space_prefix = true;
    }
  } else if (!words.is_null()) {
    return Error("pre_tokenizer " + TypeName(words) + " is not supported with byte_fallback");
  }
  return Status();
}

// What the post-processor puts around a text: special tokens before and after "Sequence".
void ReadEnds(const Json& root, const TokenIndex& index, Vocabulary& vocabulary) {
  for (const Json* part : Sequence(Field(root, "post_processor"), "processors")) {
    if (!IsType(*part, "TemplateProcessing")) continue;
    bool before = true;
    for (const Json& piece : Field(*part, "single")) {
      if (!Field(piece, "Sequence").is_null()) before = false;
      const std::string* name = AsString(Field(Field(piece, "SpecialToken"), "id"));
      if (name == nullptr) continue;
      (before ? vocabulary.bos : vocabulary.eos) = index.Find(*name);
      (before ? vocabulary.add_bos : vocabulary.add_eos) = index.Find(*name).has_value();
    }
  }
}

// A token in tokenizer_config.json: its text, or an object with it.
std::optional<TokenId> ConfigToken(const Json& config, std::string_view name,
                                   const TokenIndex& index) {
  const Json& value = Field(config, name);
  const std::string* text = AsString(value.is_object() ? Field(value, "content") : value);
  return text == nullptr ? std::nullopt : index.Find(*text);
}

// One template, or a list of named ones of which we take the one called default.
std::string ChatTemplate(const Json& value) {
  if (const std::string* text = AsString(value)) return *text;
  if (!value.is_array()) return {};
  for (const Json& each : value) {
    const std::string* name = AsString(Field(each, "name"));
    const std::string* text = AsString(Field(each, "template"));
    if (name != nullptr && *name == "default" && text != nullptr) return *text;
  }
  return {};
}

void ReadConfig(const Json& config, const TokenIndex& index, Vocabulary& vocabulary) {
  const auto take = [&](std::string_view name, std::optional<TokenId>& id) {
    if (const std::optional<TokenId> found = ConfigToken(config, name, index)) id = found;
  };
  take("bos_token", vocabulary.bos);
  take("eos_token", vocabulary.eos);
  take("unk_token", vocabulary.unknown);
  take("pad_token", vocabulary.padding);
  vocabulary.add_bos = AsBool(Field(config, "add_bos_token")).value_or(vocabulary.add_bos) &&
                       vocabulary.bos.has_value();
  vocabulary.add_eos = AsBool(Field(config, "add_eos_token")).value_or(vocabulary.add_eos) &&
                       vocabulary.eos.has_value();
  vocabulary.chat_template = ChatTemplate(Field(config, "chat_template"));
}

Result<Vocabulary> ReadTokenizer(const Json& root) {
  const Json& model = Field(root, "model");
  // Files of before 2021 leave the type out; merges tell.
  if (!IsType(model, "BPE") && !(model.is_object() && model.contains("merges"))) {
    return Error("the tokenizer model " + TypeName(model) + " is not supported; BPE is");
  }
  Vocabulary vocabulary;
  SHOAL_RETURN_IF_ERROR(ReadTokens(root, vocabulary));
  SHOAL_RETURN_IF_ERROR(ReadMerges(Field(model, "merges"), vocabulary));
  const bool byte_fallback = AsBool(Field(model, "byte_fallback")).value_or(false);
  SHOAL_RETURN_IF_ERROR(byte_fallback ? ReadSentencePieces(root, vocabulary)
                                      : ReadBytePairs(root, vocabulary));
  SHOAL_ASSIGN_OR_RETURN(const TokenIndex index, TokenIndex::Make(vocabulary.tokens));
  if (const std::string* unknown = AsString(Field(model, "unk_token"))) {
    vocabulary.unknown = index.Find(*unknown);
  }
  ReadEnds(root, index, vocabulary);
  return vocabulary;
}

}  // namespace

Status ApplyTokenizerConfig(std::string_view config, Vocabulary& vocabulary) {
  if (config.empty()) return Status();
  auto settings = internal::ParseJson(config);
  if (!settings.ok()) return std::move(settings).status().Annotate("tokenizer_config.json");
  SHOAL_ASSIGN_OR_RETURN(const TokenIndex index, TokenIndex::Make(vocabulary.tokens));
  ReadConfig(*settings, index, vocabulary);
  return Status();
}

Result<Vocabulary> ReadTokenizerJson(std::string_view file, std::string_view tokenizer,
                                     std::string_view config) {
  const std::string name(file);
  const auto read = [&]() -> Result<Vocabulary> {
    if (tokenizer.size() > kMaxTokenizerJsonBytes || config.size() > kMaxTokenizerJsonBytes) {
      return Error("larger than " + std::to_string(kMaxTokenizerJsonBytes >> 20) + " MiB");
    }
    SHOAL_ASSIGN_OR_RETURN(const Json root, internal::ParseJson(tokenizer));
    SHOAL_ASSIGN_OR_RETURN(Vocabulary vocabulary, ReadTokenizer(root));
    SHOAL_RETURN_IF_ERROR(ApplyTokenizerConfig(config, vocabulary));
    return vocabulary;
  };
  Result<Vocabulary> result = read();
  if (!result.ok()) return std::move(result).status().Annotate(name);
  return result;
}

}  // namespace shoal::llm
