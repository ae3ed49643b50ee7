// UTF-8, one character at a time. Text comes from users and files: what is not UTF-8 is not an
// error but reads as U+FFFD, one for each maximal part that could have begun a character, as
// Unicode recommends and browsers do.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shoal::llm {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

struct DecodedCharacter {
  char32_t code = 0;
  std::size_t size = 0;  // Bytes consumed, at least 1.
  bool valid = false;    // Otherwise `code` is kReplacementCharacter.
};

// The character that `text` begins with. REQUIRES: !text.empty().
DecodedCharacter DecodeCharacter(std::string_view text);

// REQUIRES: `code` is a scalar value (no surrogate, at most U+10FFFF).
void AppendCharacter(char32_t code, std::string& out);

bool IsValidUtf8(std::string_view text);

// `text` with everything that is not UTF-8 replaced.
std::string ReplaceInvalidUtf8(std::string_view text);

// How many bytes at the end of `text` are a character that has only begun: 0 to 3.
std::size_t UnfinishedBytes(std::string_view text);

}  // namespace shoal::llm
