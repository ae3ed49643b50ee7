// The alphabet in which byte-pair vocabularies write bytes: GPT-2's table gives each byte a
// printable character. A printable byte of Latin-1 is itself, the other 68 are U+0100 and
// up in their order, so that space is Ġ and newline is Ċ.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace shoal::llm {

// The character, as UTF-8, for each of the bytes.
std::string ToByteAlphabet(std::string_view bytes);

// The bytes that `text` stands for; nothing if it has a character of another alphabet.
std::optional<std::string> FromByteAlphabet(std::string_view text);

}  // namespace shoal::llm
