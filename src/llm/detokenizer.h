// Detokenizer: tokens one by one to text as it can be shown: always whole UTF-8 characters. A
// character may be spread over several tokens; it appears with the last of them.
//
// Belongs to one thread.
#pragma once

#include <span>
#include <string>

#include "llm/tokenizer.h"

namespace shoal::llm {

struct DetokenizerOptions {
  bool show_control = false;  // Write control tokens by their names.
  // The tokens continue a text: a SentencePiece token's leading space is part of it. Otherwise
  // the first one is the space that Encode put there, and is dropped.
  bool continues = false;
};

class Detokenizer {
 public:
  explicit Detokenizer(Tokenizer tokenizer, const DetokenizerOptions& options = {});

  // The characters that `id` completes. What is not UTF-8 becomes U+FFFD. An id beyond the
  // vocabulary (a model may have more rows than tokens) is nothing.
  std::string Feed(TokenId id);
  // At the end: U+FFFD if a character was left unfinished. Ready for the next text.
  std::string Flush();

 private:
  Tokenizer tokenizer_;
  DetokenizerOptions options_;
  bool drop_space_ = false;
  std::string pending_;  // The beginning of a character.
};

// All at once.
std::string Decode(const Tokenizer& tokenizer, std::span<const TokenId> ids,
                   const DetokenizerOptions& options = {});

}  // namespace shoal::llm
