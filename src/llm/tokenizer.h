// Tokenizer: text to token ids, and the bytes of one token back. For pieces of text that arrive
// token by token there is a Detokenizer (detokenizer.h).
//
// A text has an author. What a chat template writes may steer the model: "<|im_end|>" in it is
// one control token. What a user writes may not: there it is nine harmless characters. Whoever
// calls says which is which, and where both are in one prompt, says it per segment; words at the
// seams are still cut as in one text.
//
//   SHOAL_ASSIGN_OR_RETURN(Tokenizer tokenizer, Tokenizer::Create(std::move(vocabulary)));
//   tokenizer.Encode("Hello", {.add_ends = true});
//
// An immutable value, cheap to copy; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "llm/vocabulary.h"

namespace shoal::llm {

// What a special token that is written out in a text becomes.
enum class SpecialTokens : std::uint8_t {
  kAsText,  // Characters like others. (User-defined tokens that are no control tokens by their
            // looks, such as runs of spaces, are still tokens: the model knows text only so.)
  kParse,   // That token.
};

// Part of a prompt, and how it may be read.
struct TextSegment {
  std::string text;
  SpecialTokens special = SpecialTokens::kAsText;

  friend bool operator==(const TextSegment&, const TextSegment&) = default;
};

struct EncodeOptions {
  SpecialTokens special = SpecialTokens::kAsText;
  bool add_ends = false;  // Beginning and end of sequence, if the vocabulary wants them.
};

class Tokenizer {
 public:
  // kInvalidArgument: the vocabulary contradicts itself, or its pre-tokenizer is one we lack.
  static Result<Tokenizer> Create(Vocabulary vocabulary);

  // What is not UTF-8 in `text` counts as U+FFFD.
  std::vector<TokenId> Encode(std::string_view text, const EncodeOptions& options = {}) const;
  // A prompt made of segments, cut as one text.
  std::vector<TokenId> Encode(std::span<const TextSegment> segments, bool add_ends = false) const;

  // The bytes that a token stands for, perhaps only part of a character. A SentencePiece token
  // keeps its leading space; a control or unknown token is its name. REQUIRES: Has(id).
  std::string TokenBytes(TokenId id) const;
  bool Has(TokenId id) const;
  // Control, unknown and unused tokens: no text. REQUIRES: Has(id).
  bool IsControl(TokenId id) const;
  // A token that Encode finds before cutting, control or user-defined. REQUIRES: Has(id).
  bool IsSpecial(TokenId id) const;
  // The model has finished its answer: end of sequence, of turn, of message.
  bool EndsAnswer(TokenId id) const;

  const Vocabulary& vocabulary() const;

 private:
  struct Parts;

  explicit Tokenizer(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

  std::shared_ptr<const Parts> parts_;
};

}  // namespace shoal::llm
