// What tokenizers ask about characters: the general categories that their patterns name, and
// the composed form. The only user of utf8proc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shoal::llm {

// A set of the properties that patterns ask for; one character can have several.
enum CharacterClass : std::uint16_t {
  kLetterUpper = 1 << 0,                                 // Lu, Lt
  kLetterLower = 1 << 1,                                 // Ll
  kLetterOther = 1 << 2,                                 // Lm, Lo: those that have no case
  kMark = 1 << 3,                                        // \p{M}
  kNumber = 1 << 4,                                      // \p{N}
  kPunctuation = 1 << 5,                                 // \p{P}
  kSymbol = 1 << 6,                                      // \p{S}
  kSpace = 1 << 7,                                       // \s: the property White_Space
  kNewline = 1 << 8,                                     // [\r\n]; also kSpace
  kLetter = kLetterUpper | kLetterLower | kLetterOther,  // \p{L}
};

// The classes of `code`, or-ed together; 0 for controls, unassigned and private characters.
std::uint16_t ClassesOf(char32_t code);

// One character's other case; itself if it has none. (ß stays: it would become two.)
char32_t ToUpper(char32_t code);
char32_t ToLower(char32_t code);

// Normalisation form C. REQUIRES: `text` is valid UTF-8.
std::string ComposedForm(std::string_view text);

}  // namespace shoal::llm
