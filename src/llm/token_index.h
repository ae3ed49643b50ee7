// TokenIndex: from a token's text to its id. Views the texts of a vocabulary, which must stay
// where they are.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/status.h"
#include "llm/vocabulary.h"

namespace shoal::llm {

class TokenIndex {
 public:
  // kInvalidArgument: two tokens have the same text. Empty texts (holes) are left out.
  static Result<TokenIndex> Make(std::span<const std::string> tokens);

  std::optional<TokenId> Find(std::string_view text) const;

 private:
  std::unordered_map<std::string_view, TokenId> ids_;
};

// The merge of two texts, of which the third is put together. `number` counts from 0 and is for
// the message. kInvalidArgument: one of the three is no token, or a text is empty.
Result<Merge> FindMerge(const TokenIndex& index, std::string_view left, std::string_view right,
                        std::size_t number);

// The same from "left right", as GGUF and older tokenizer.json files write it.
Result<Merge> ParseMerge(const TokenIndex& index, std::string_view text, std::size_t number);

// A token's text in a message: in quotes, cut short, control characters escaped.
std::string Quoted(std::string_view text, std::size_t bytes_max = 40);

}  // namespace shoal::llm
