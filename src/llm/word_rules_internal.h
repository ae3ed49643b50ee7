// The alternatives of the pre-tokenizers' regular expressions, as functions. A rule gets a text
// and a place in it and returns where its match ends, or the place itself if there is none;
// like the expression it is greedy and gives back only what it must.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "llm/unicode.h"

namespace shoal::llm::internal {

struct Character {
  char32_t code = 0;
  std::uint16_t classes = 0;  // CharacterClass.
  std::size_t offset = 0;     // In the text, in bytes.

  bool Is(int wanted) const { return (classes & wanted) != 0; }
};

using Characters = std::span<const Character>;
using Rule = std::size_t (*)(Characters, std::size_t);

// The expressions are quoted as in the models' files; \R stands for [\r\n], \Q for '.

// 's|'t|'re|'ve|'m|'ll|'d
std::size_t Contraction(Characters text, std::size_t at);
// The same in any case.
std::size_t ContractionAnyCase(Characters text, std::size_t at);
// " ?\p{L}+", " ?\p{N}+", " ?[^\s\p{L}\p{N}]+"
std::size_t SpaceLetters(Characters text, std::size_t at);
std::size_t SpaceNumbers(Characters text, std::size_t at);
std::size_t SpaceOthers(Characters text, std::size_t at);
// "\s+(?!\S)", "\s+", "\s*\R+", "\s+$"
std::size_t SpacesBeforeLast(Characters text, std::size_t at);
std::size_t Spaces(Characters text, std::size_t at);
std::size_t SpacesToNewline(Characters text, std::size_t at);
std::size_t SpacesAtEnd(Characters text, std::size_t at);
// "\p{N}", "\p{N}{1,3}", "\p{N}+"
std::size_t OneNumber(Characters text, std::size_t at);
std::size_t UpToThreeNumbers(Characters text, std::size_t at);
std::size_t Numbers(Characters text, std::size_t at);
// "[^\R\p{L}\p{N}]?\p{L}+", and with \p{M} among the letters
std::size_t PrefixedLetters(Characters text, std::size_t at);
std::size_t PrefixedLettersMarks(Characters text, std::size_t at);
// " ?[^\s\p{L}\p{N}]+\R*", with \p{M} among the letters, and with [\r\n/]* at the end
std::size_t OthersToNewline(Characters text, std::size_t at);
std::size_t OthersNoMarksToNewline(Characters text, std::size_t at);
std::size_t OthersToSlash(Characters text, std::size_t at);
// With U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and L = [\p{Ll}\p{Lm}\p{Lo}\p{M}]:
// "[^\R\p{L}\p{N}]?U*L+" and "[^\R\p{L}\p{N}]?U+L*"
std::size_t CasedLower(Characters text, std::size_t at);
std::size_t CasedUpper(Characters text, std::size_t at);
// The same, followed by a contraction in any case, or none.
std::size_t CasedLowerContraction(Characters text, std::size_t at);
std::size_t CasedUpperContraction(Characters text, std::size_t at);

// DeepSeek: "\R", "\s?" with a run of cased letters, of punctuation by ranges, of \p{L}, of
// \p{P}; runs of CJK characters (LLM and Coder; V3); and V3's long expression's own parts:
// ASCII punctuation with ASCII letters, "[^\R\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+",
// " ?[\p{P}\p{S}]+\R*"
std::size_t OneNewline(Characters text, std::size_t at);
std::size_t AnySpaceCasedLetters(Characters text, std::size_t at);
std::size_t AnySpaceMarks(Characters text, std::size_t at);
std::size_t AnySpaceLetters(Characters text, std::size_t at);
std::size_t AnySpacePunctuation(Characters text, std::size_t at);
std::size_t CjkOrHangul(Characters text, std::size_t at);
std::size_t CjkOrKana(Characters text, std::size_t at);
std::size_t MarkedAsciiLetters(Characters text, std::size_t at);
std::size_t PrefixedLettersV3(Characters text, std::size_t at);
std::size_t SpacePunctuationToNewline(Characters text, std::size_t at);

}  // namespace shoal::llm::internal
