// BytePairs: byte-level BPE. Words by the model's pre-tokenizer, in each word bytes, merged in
// the order of the vocabulary's list.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "llm/pair_table_internal.h"
#include "llm/pre_tokenizer.h"
#include "llm/token_index.h"
#include "llm/vocabulary.h"

namespace shoal::llm::internal {

class BytePairs {
 public:
  // `vocabulary` and `index` must outlive it.
  static Result<BytePairs> Make(const Vocabulary& vocabulary, const TokenIndex& index);

  // Appends the tokens of `text`. A byte that the vocabulary lacks becomes the unknown token, or
  // nothing if there is none. REQUIRES: `text` is valid UTF-8.
  void Encode(std::string_view text, std::vector<TokenId>& out) const;

 private:
  BytePairs(const Vocabulary& vocabulary, const TokenIndex& index, const PreTokenizer& words);

  TokenId FindText(std::string_view bytes) const;
  void EncodeWord(std::string_view word, SymbolList& symbols, std::vector<TokenId>& out) const;

  const Vocabulary* vocabulary_;
  const TokenIndex* index_;
  const PreTokenizer* pre_tokenizer_;
  std::array<TokenId, 256> byte_ids_;
  PairTable pairs_;
};

}  // namespace shoal::llm::internal
