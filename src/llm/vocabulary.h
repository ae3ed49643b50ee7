// Vocabulary: what a model file says about its tokens, as plain values. Readers fill it
// (tokenizer_json.h, gguf_vocabulary.h), Tokenizer::Create checks it and uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shoal::llm {

using TokenId = std::int32_t;

// How a text is cut into tokens.
enum class TokenModel : std::uint8_t {
  kSentencePiece,  // Whole text, spaces as U+2581, unknown characters as byte tokens.
  kBytePairs,      // Words by a pattern, bytes as printable characters (GPT-2's table).
};

// The numbers are those of GGUF.
enum class TokenType : std::uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,      // <s>, <|im_end|>: never made from a user's text.
  kUserDefined = 4,  // Found in every text before anything else.
  kUnused = 5,
  kByte = 6,  // <0x0A>
};

// Two neighbours become one token. The earlier in the list, the sooner.
struct Merge {
  TokenId left = 0;
  TokenId right = 0;
  TokenId merged = 0;  // Its text is that of `left` followed by that of `right`.

  friend bool operator==(const Merge&, const Merge&) = default;
};

struct Vocabulary {
  TokenModel model = TokenModel::kBytePairs;
  std::vector<std::string> tokens;  // By id, as the file writes them.
  std::vector<TokenType> types;     // As many as tokens.
  std::vector<float> scores;        // kSentencePiece: as many as tokens, or none and `merges`.
  std::vector<Merge> merges;
  std::string pre_tokenizer;  // kBytePairs: a name as in GGUF, "llama-bpe".

  std::optional<TokenId> bos = {};
  std::optional<TokenId> eos = {};
  std::optional<TokenId> eot = {};  // Ends a turn, where that is not eos.
  std::optional<TokenId> unknown = {};
  std::optional<TokenId> padding = {};
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = false;  // kSentencePiece: "Hello" is cut as " Hello".
  bool ignore_merges = false;     // kBytePairs: a word that is a token is not cut.
  bool compose = false;           // Texts are brought into normalisation form C first.

  // Special tokens that swallow the white space on one side of them (Phi-3).
  std::vector<TokenId> strip_left = {};
  std::vector<TokenId> strip_right = {};

  std::string chat_template;  // Jinja; empty if the model is no chat model.
};

// More than any published vocabulary (Gemma 3: 262,144 tokens), and little memory.
inline constexpr std::size_t kMaxTokens = std::size_t{1} << 21;
inline constexpr std::size_t kMaxMerges = std::size_t{1} << 22;
// The longest published token is a line of some hundred spaces or equals signs.
inline constexpr std::size_t kMaxTokenBytes = 4096;

}  // namespace shoal::llm
