// Small vocabularies and random texts for tests.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "llm/byte_alphabet.h"
#include "llm/token_index.h"
#include "llm/utf8.h"
#include "llm/vocabulary.h"

namespace shoal::llm {

inline void AddToken(Vocabulary& vocabulary, std::string text, TokenType type = TokenType::kNormal,
                     float score = 0) {
  vocabulary.tokens.push_back(std::move(text));
  vocabulary.types.push_back(type);
  if (vocabulary.model == TokenModel::kSentencePiece) vocabulary.scores.push_back(score);
}

// All 256 bytes, then what `merges` ("h e") make, in their order, then <|end|>, a control token.
inline Vocabulary SmallBytePairs(std::vector<std::string> merges,
                                 std::string_view pre_tokenizer = "gpt-2") {
  Vocabulary vocabulary;
  vocabulary.pre_tokenizer = pre_tokenizer;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    AddToken(vocabulary, ToByteAlphabet({&c, 1}));
  }
  for (const std::string& merge : merges) {
    std::string merged = merge;
    AddToken(vocabulary, merged.erase(merge.find(' '), 1));
  }
  const auto index = TokenIndex::Make(vocabulary.tokens);
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto merge = ParseMerge(*index, merges[i], i);
    SHOAL_CHECK(merge.ok());
    vocabulary.merges.push_back(*merge);
  }
  AddToken(vocabulary, "<|end|>", TokenType::kControl);
  return vocabulary;
}

// <unk>, <s>, </s>, the 256 bytes, then `pieces` with falling scores.
inline Vocabulary SmallSentencePieces(const std::vector<std::string>& pieces) {
  Vocabulary vocabulary;
  vocabulary.model = TokenModel::kSentencePiece;
  AddToken(vocabulary, "<unk>", TokenType::kUnknown);
  AddToken(vocabulary, "<s>", TokenType::kControl);
  AddToken(vocabulary, "</s>", TokenType::kControl);
  for (int byte = 0; byte < 256; ++byte) {
    static constexpr std::string_view kDigits = "0123456789ABCDEF";
    const auto b = static_cast<std::size_t>(byte);
    AddToken(vocabulary, std::string("<0x") + kDigits[b / 16] + kDigits[b % 16] + ">",
             TokenType::kByte);
  }
  float score = -1;
  for (const std::string& piece : pieces) AddToken(vocabulary, piece, TokenType::kNormal, score--);
  vocabulary.unknown = 0;
  vocabulary.bos = 1;
  vocabulary.eos = 2;
  vocabulary.add_bos = true;
  vocabulary.add_space_prefix = true;
  return vocabulary;
}

// Up to 40 characters from everywhere: mostly ASCII and spaces, but also other scripts, marks and
// characters of four bytes.
inline std::string RandomText(Random& random) {
  std::string text;
  for (std::uint64_t i = random.Below(40); i > 0; --i) {
    static constexpr char32_t kEnds[] = {0x21, 0x80, 0x250, 0x800, 0xD800, 0x110000};
    char32_t code = static_cast<char32_t>(random.Below(kEnds[random.Below(6)]));
    if (random.Below(4) == 0) code = random.Below(2) == 0 ? ' ' : '\n';
    if (code >= 0xD800 && code < 0xE000) code -= 0x1000;
    AppendCharacter(code, text);
  }
  return text;
}

}  // namespace shoal::llm
