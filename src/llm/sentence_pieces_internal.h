// SentencePieces: BPE as SentencePiece does it. The whole text, spaces written as ▁, is cut into
// characters; two neighbours merge if together they are a token, the best score first. Newer
// files list the merges instead (tokenizer.json); then their order counts.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/pair_table_internal.h"
#include "llm/token_index.h"
#include "llm/vocabulary.h"

namespace shoal::llm::internal {

class SentencePieces {
 public:
  // `vocabulary` and `index` must outlive it.
  SentencePieces(const Vocabulary& vocabulary, const TokenIndex& index);

  // Appends the tokens of `text`, as it is: the caller adds the space in front. A character that
  // is in no token becomes its bytes' tokens; without those, the unknown token, if there is one.
  void Encode(std::string_view text, std::vector<TokenId>& out) const;

  // The byte that a byte token stands for.
  static std::optional<char> ByteOf(std::string_view token);

 private:
  TokenId FindText(std::string_view piece) const;
  std::optional<MergedPair> FindScored(std::string_view both) const;
  void AppendCharacters(std::string_view text, SymbolList& symbols) const;
  void EmitBytes(std::string_view bytes, std::vector<TokenId>& out) const;

  const Vocabulary* vocabulary_;
  const TokenIndex* index_;
  std::array<TokenId, 256> byte_ids_;
  std::size_t longest_token_ = 0;
  PairTable pairs_;
};

// ' ' as ▁ and back: how SentencePiece writes spaces.
std::string EscapeSpaces(std::string_view text);
std::string UnescapeSpaces(std::string_view text);

}  // namespace shoal::llm::internal
