#include "llm/byte_alphabet.h"

#include <array>

#include "llm/utf8.h"

namespace shoal::llm {
namespace {

bool IsPrintable(char32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr char32_t kFirstSubstitute = 0x100;
constexpr std::size_t kSubstitutes = 68;

struct Tables {
  std::array<std::string, 256> characters;
  std::array<char, kSubstitutes> substituted;  // The byte that kFirstSubstitute + i stands for.
};

const Tables& GetTables() {
  static const Tables tables = [] {
    Tables made;
    std::size_t substitutes = 0;
    for (char32_t byte = 0; byte < 256; ++byte) {
      char32_t code = byte;
      if (!IsPrintable(byte)) {
        code = kFirstSubstitute + static_cast<char32_t>(substitutes);
        made.substituted[substitutes++] = static_cast<char>(byte);
      }
      AppendCharacter(code, made.characters[byte]);
    }
    return made;
  }();
  return tables;
}

}  // namespace

std::string ToByteAlphabet(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += GetTables().characters[static_cast<unsigned char>(byte)];
  return text;
}

std::optional<std::string> FromByteAlphabet(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const DecodedCharacter character = DecodeCharacter(text);
    text.remove_prefix(character.size);
    const char32_t code = character.code;
    if (code < 256 && IsPrintable(code)) {
      bytes.push_back(static_cast<char>(code));
    } else if (code >= kFirstSubstitute && code < kFirstSubstitute + kSubstitutes) {
      bytes.push_back(GetTables().substituted[code - kFirstSubstitute]);
    } else {
      return std::nullopt;
    }
  }
  return bytes;
}

}  // namespace shoal::llm
