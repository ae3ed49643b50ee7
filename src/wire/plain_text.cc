#include <cstddef>
#include <cstdint>

#include "wire/enrol.h"

namespace shoal::wire {
namespace {

// How many bytes a character has by its first one; 0: none begins like this.
std::size_t LengthOf(std::uint8_t first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  if (first >= 0xf0 && first <= 0xf4) return 4;
  return 0;
}

bool IsShown(std::uint32_t character, std::size_t length) {
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (character < kSmallest[length]) return false;  // Written longer than it is.
  if (character < 0x20 || (character >= 0x7f && character < 0xa0)) return false;
  if (character >= 0xd800 && character < 0xe000) return false;  // Half of a UTF-16 pair.
  // Line ends, and marks that turn the direction of what follows on a terminal.
  if (character >= 0x2028 && character <= 0x202e) return false;
  if (character >= 0x2066 && character <= 0x2069) return false;
  return character <= 0x10ffff;
}

}  // namespace

bool IsPlainText(std::string_view text) {
  while (!text.empty()) {
    const auto first = static_cast<std::uint8_t>(text[0]);
    const std::size_t length = LengthOf(first);
    if (length == 0 || length > text.size()) return false;
    std::uint32_t character = length == 1 ? first : first & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i) {
      const auto next = static_cast<std::uint8_t>(text[i]);
      if ((next & 0xc0U) != 0x80) return false;
      character = character << 6U | (next & 0x3fU);
    }
    if (!IsShown(character, length)) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace shoal::wire
