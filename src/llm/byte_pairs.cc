#include <optional>
#include <string>

#include "llm/byte_alphabet.h"
#include "llm/byte_pairs_internal.h"

namespace shoal::llm::internal {

Result<BytePairs> BytePairs::Make(const Vocabulary& vocabulary, const TokenIndex& index) {
  SHOAL_ASSIGN_OR_RETURN(const PreTokenizer* words, FindPreTokenizer(vocabulary.pre_tokenizer));
  return BytePairs(vocabulary, index, *words);
}

BytePairs::BytePairs(const Vocabulary& vocabulary, const TokenIndex& index,
                     const PreTokenizer& words)
    : vocabulary_(&vocabulary),
      index_(&index),
      pre_tokenizer_(&words),
      byte_ids_{},
      pairs_(vocabulary.merges, vocabulary.types) {
  for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const char c = static_cast<char>(byte);
    byte_ids_[byte] = FindText({&c, 1});
  }
}

// The token that stands for these bytes and may be made from text; kNoToken if there is none.
TokenId BytePairs::FindText(std::string_view bytes) const {
  const std::optional<TokenId> id = index_->Find(ToByteAlphabet(bytes));
  if (!id) return kNoToken;
  const TokenType type = vocabulary_->types[static_cast<std::size_t>(*id)];
  return type == TokenType::kNormal || type == TokenType::kUserDefined ? *id : kNoToken;
}

void BytePairs::Encode(std::string_view text, std::vector<TokenId>& out) const {
  std::vector<std::string_view> words;
  SplitWords(*pre_tokenizer_, text, words);
  SymbolList symbols;
  for (const std::string_view word : words) EncodeWord(word, symbols, out);
}

void BytePairs::EncodeWord(std::string_view word, SymbolList& symbols,
                           std::vector<TokenId>& out) const {
  if (vocabulary_->ignore_merges && word.size() <= kMaxTokenBytes) {
    if (const TokenId whole = FindText(word); whole != kNoToken) {
      out.push_back(whole);
      return;
    }
  }
  symbols.Clear();
  for (std::size_t i = 0; i < word.size(); ++i) {
    symbols.Append(i, 1, byte_ids_[static_cast<unsigned char>(word[i])]);
  }
  symbols.Merge(
      [this](const Symbol& left, const Symbol& right) { return pairs_.Find(left.id, right.id); });
  symbols.ForEach([&](const Symbol& symbol) {
    if (symbol.id != kNoToken) {
      out.push_back(symbol.id);
    } else if (vocabulary_->unknown) {
      out.push_back(*vocabulary_->unknown);
    }
  });
}

}  // namespace shoal::llm::internal
