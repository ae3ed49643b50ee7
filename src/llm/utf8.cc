#include "llm/utf8.h"

#include "base/check.h"

namespace shoal::llm {
namespace {

// What a first byte promises.
struct Lead {
  std::size_t size = 0;  // 0: no character begins so.
  unsigned char second_min = 0x80;
  unsigned char second_max = 0xBF;
};

// The bounds of the second byte keep out overlong forms, surrogates and what is beyond U+10FFFF.
Lead LeadOf(unsigned char byte) {
  if (byte < 0x80) return {.size = 1};
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {.size = 2};
  if (byte == 0xE0) return {.size = 3, .second_min = 0xA0};
  if (byte == 0xED) return {.size = 3, .second_max = 0x9F};
  if (byte < 0xF0) return {.size = 3};
  if (byte == 0xF0) return {.size = 4, .second_min = 0x90};
  if (byte < 0xF4) return {.size = 4};
  if (byte == 0xF4) return {.size = 4, .second_max = 0x8F};
  return {};
}

// How many of the first bytes of `text` fit together; lead.size if the character is whole.
std::size_t FittingBytes(std::string_view text, const Lead& lead) {
  std::size_t size = 1;
  while (size < lead.size && size < text.size()) {
    const auto byte = static_cast<unsigned char>(text[size]);
    const unsigned char low = size == 1 ? lead.second_min : 0x80;
    const unsigned char high = size == 1 ? lead.second_max : 0xBF;
    if (byte < low || byte > high) break;
    ++size;
  }
  return size;
}

}  // namespace

DecodedCharacter DecodeCharacter(std::string_view text) {
  SHOAL_DCHECK(!text.empty());
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {.code = first, .size = 1, .valid = true};
  const Lead lead = LeadOf(first);
  const std::size_t size = FittingBytes(text, lead);
  if (lead.size == 0 || size < lead.size) return {.code = kReplacementCharacter, .size = size};
  char32_t code = first & (0xFFU >> (lead.size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    code = (code << 6) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  return {.code = code, .size = size, .valid = true};
}

void AppendCharacter(char32_t code, std::string& out) {
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    const DecodedCharacter character = DecodeCharacter(text);
    if (!character.valid) return false;
    text.remove_prefix(character.size);
  }
  return true;
}

std::string ReplaceInvalidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const DecodedCharacter character = DecodeCharacter(text);
    AppendCharacter(character.code, out);
    text.remove_prefix(character.size);
  }
  return out;
}

std::size_t UnfinishedBytes(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const std::string_view tail = text.substr(text.size() - back);
    const auto byte = static_cast<unsigned char>(tail[0]);
    if (byte < 0x80) return 0;
    if (byte < 0xC0) continue;  // The middle of a character.
    const Lead lead = LeadOf(byte);
    return lead.size > back && FittingBytes(tail, lead) == back ? back : 0;
  }
  return 0;
}

}  // namespace shoal::llm
