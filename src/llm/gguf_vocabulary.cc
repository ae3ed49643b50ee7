#include "llm/gguf_vocabulary.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/token_index.h"

namespace shoal::llm {
namespace {

// What files leave out because llama.cpp derives it from the name of the pre-tokenizer.
struct PreTokenizerDefaults {
  bool ignore_merges = false;
  bool add_bos = false;
  bool compose = false;
};

PreTokenizerDefaults DefaultsFor(std::string_view pre) {
  static constexpr std::string_view kLlama3[] = {"llama3",    "llama-v3", "llama-bpe", "falcon3",
                                                 "falcon-h1", "pixtral",  "midm-2.0",  "lfm2"};
  if (std::find(std::begin(kLlama3), std::end(kLlama3), pre) != std::end(kLlama3) ||
      pre == "tekken") {
    return {.ignore_merges = true, .add_bos = true};
  }
  // Their tokenizer.json has the normaliser NFC, which GGUF cannot say.
  if (pre == "qwen2" || pre == "qwen35") return {.compose = true};
  return {};
}

Status Error(const GgufMetadata& metadata, const std::string& what) {
  return Status(Code::kInvalidArgument, metadata.file() + ": " + what);
}

Result<TokenModel> ReadModel(const GgufMetadata& metadata) {
  SHOAL_ASSIGN_OR_RETURN(const std::string_view model, metadata.GetString("tokenizer.ggml.model"));
  if (model == "llama") return TokenModel::kSentencePiece;
  if (model == "gpt2") return TokenModel::kBytePairs;
  return Error(metadata, "tokenizer.ggml.model is '" + std::string(model) +
                             "', which is not supported; supported are llama and gpt2");
}

Result<std::vector<TokenType>> ReadTypes(const GgufMetadata& metadata, std::size_t tokens) {
  std::vector<TokenType> types(tokens, TokenType::kNormal);
  const std::string_view key = "tokenizer.ggml.token_type";
  if (!metadata.Has(key)) return types;
  SHOAL_ASSIGN_OR_RETURN(const std::vector<std::int64_t> numbers, metadata.GetIntegers(key));
  if (numbers.size() != tokens) {
    return Error(metadata, std::to_string(numbers.size()) + " token types for " +
                               std::to_string(tokens) + " tokens");
  }
  for (std::size_t id = 0; id < tokens; ++id) {
    if (numbers[id] < 1 || numbers[id] > 6) {
      return Error(metadata, "token " + std::to_string(id) + " has the type " +
                                 std::to_string(numbers[id]) + "; types are 1 to 6");
    }
    types[id] = static_cast<TokenType>(numbers[id]);
  }
  return types;
}

Result<std::optional<TokenId>> ReadId(const GgufMetadata& metadata, std::string_view name) {
  const std::string key = "tokenizer.ggml." + std::string(name) + "_token_id";
  if (!metadata.Has(key)) return std::optional<TokenId>();
  SHOAL_ASSIGN_OR_RETURN(const std::uint64_t id, metadata.GetUnsigned(key));
  // "None" is sometimes written as all ones.
  if (id >= std::numeric_limits<std::uint32_t>::max()) return std::optional<TokenId>();
  if (id >= kMaxTokens) {
    return Error(metadata, key + " is " + std::to_string(id) + ", beyond any vocabulary");
  }
  return std::optional<TokenId>(static_cast<TokenId>(id));
}

Status ReadIds(const GgufMetadata& metadata, Vocabulary& vocabulary) {
  SHOAL_ASSIGN_OR_RETURN(vocabulary.bos, ReadId(metadata, "bos"));
  SHOAL_ASSIGN_OR_RETURN(vocabulary.eos, ReadId(metadata, "eos"));
  SHOAL_ASSIGN_OR_RETURN(vocabulary.eot, ReadId(metadata, "eot"));
  SHOAL_ASSIGN_OR_RETURN(vocabulary.unknown, ReadId(metadata, "unknown"));
  SHOAL_ASSIGN_OR_RETURN(vocabulary.padding, ReadId(metadata, "padding"));
  return Status();
}

Status ReadMerges(const GgufMetadata& metadata, Vocabulary& vocabulary) {
  SHOAL_ASSIGN_OR_RETURN(const auto merges, metadata.GetStrings("tokenizer.ggml.merges"));
  if (merges.size() > kMaxMerges) {
    return Error(metadata, std::to_string(merges.size()) + " merges; the limit is " +
                               std::to_string(kMaxMerges));
  }
  SHOAL_ASSIGN_OR_RETURN(const TokenIndex index, TokenIndex::Make(vocabulary.tokens));
  vocabulary.merges.reserve(merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    SHOAL_ASSIGN_OR_RETURN(const Merge merge, ParseMerge(index, merges[i], i));
    vocabulary.merges.push_back(merge);
  }
  return Status();
}

Status ReadTokens(const GgufMetadata& metadata, Vocabulary& vocabulary) {
  SHOAL_ASSIGN_OR_RETURN(const auto tokens, metadata.GetStrings("tokenizer.ggml.tokens"));
  if (tokens.size() > kMaxTokens) {
    return Error(metadata, std::to_string(tokens.size()) + " tokens; the limit is " +
                               std::to_string(kMaxTokens));
  }
  vocabulary.tokens.assign(tokens.begin(), tokens.end());
  SHOAL_ASSIGN_OR_RETURN(vocabulary.types, ReadTypes(metadata, tokens.size()));
  return Status();
}

Status ReadBytePairs(const GgufMetadata& metadata, Vocabulary& vocabulary) {
  SHOAL_ASSIGN_OR_RETURN(const std::string_view pre,
                         metadata.GetStringOr("tokenizer.ggml.pre", "default"));
  vocabulary.pre_tokenizer = std::string(pre);
  const PreTokenizerDefaults defaults = DefaultsFor(pre);
  vocabulary.ignore_merges = defaults.ignore_merges;
  vocabulary.compose = defaults.compose;
  vocabulary.add_bos = defaults.add_bos && vocabulary.bos.has_value();
  return ReadMerges(metadata, vocabulary).Annotate(metadata.file());
}

Status ReadSentencePieces(const GgufMetadata& metadata, Vocabulary& vocabulary) {
  SHOAL_ASSIGN_OR_RETURN(vocabulary.scores, metadata.GetFloats("tokenizer.ggml.scores"));
  SHOAL_ASSIGN_OR_RETURN(vocabulary.add_space_prefix,
                         metadata.GetBoolOr("tokenizer.ggml.add_space_prefix", true));
  vocabulary.add_bos = vocabulary.bos.has_value();
  return Status();
}

}  // namespace

Result<Vocabulary> ReadGgufVocabulary(const GgufMetadata& metadata) {
  Vocabulary vocabulary;
  SHOAL_ASSIGN_OR_RETURN(vocabulary.model, ReadModel(metadata));
  SHOAL_RETURN_IF_ERROR(ReadTokens(metadata, vocabulary));
  SHOAL_RETURN_IF_ERROR(ReadIds(metadata, vocabulary));
  SHOAL_RETURN_IF_ERROR(vocabulary.model == TokenModel::kBytePairs
                            ? ReadBytePairs(metadata, vocabulary)
                            : ReadSentencePieces(metadata, vocabulary));
  SHOAL_ASSIGN_OR_RETURN(vocabulary.add_bos,
                         metadata.GetBoolOr("tokenizer.ggml.add_bos_token", vocabulary.add_bos));
  SHOAL_ASSIGN_OR_RETURN(vocabulary.add_eos,
                         metadata.GetBoolOr("tokenizer.ggml.add_eos_token", false));
  SHOAL_ASSIGN_OR_RETURN(const std::string_view chat_template,
                         metadata.GetStringOr("tokenizer.chat_template", ""));
  vocabulary.chat_template = std::string(chat_template);
  return vocabulary;
}

}  // namespace shoal::llm
