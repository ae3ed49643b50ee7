#include "llm/marked_string.h"

#include <algorithm>

#include "base/check.h"
#include "llm/unicode.h"
#include "llm/utf8.h"

namespace shoal::llm {
namespace {

bool IsSpace(char32_t code) { return (ClassesOf(code) & kSpace) != 0; }

bool InSet(std::string_view set, char32_t code) {
  while (!set.empty()) {
    const DecodedCharacter character = DecodeCharacter(set);
    if (character.code == code) return true;
    set.remove_prefix(character.size);
  }
  return false;
}

// Each character through `change(code, begins_word)`; its mark stays.
template <class Change>
MarkedString MapCharacters(const MarkedString& text, const Change& change) {
  MarkedString out;
  bool begins_word = true;
  for (std::size_t at = 0; at < text.size();) {
    const DecodedCharacter character = DecodeCharacter(std::string_view(text.text()).substr(at));
    std::string changed;
    AppendCharacter(change(character.code, begins_word), changed);
    out.Append(changed, text.OriginAt(at));
    begins_word = (ClassesOf(character.code) & kLetter) == 0;
    at += character.size;
  }
  return out;
}

std::vector<MarkedString> SplitAtSpaces(const MarkedString& text, std::size_t cuts_max) {
  std::vector<MarkedString> parts;
  std::size_t begin = 0;
  std::size_t at = 0;
  const std::string_view view = text.text();
  while (at < view.size()) {
    const DecodedCharacter character = DecodeCharacter(view.substr(at));
    if (!IsSpace(character.code)) {
      if (parts.size() == cuts_max) break;
      at += character.size;
      continue;
    }
    if (at > begin) parts.push_back(text.Part(begin, at - begin));
    at += character.size;
    begin = at;
  }
  const MarkedString rest =
      parts.size() == cuts_max ? Strip(text.Part(begin), Sides::kRight) : text.Part(begin);
  if (!rest.empty()) parts.push_back(rest);
  return parts;
}

std::vector<MarkedString> SplitFromRight(const MarkedString& text, std::string_view separator,
                                         std::size_t cuts_max) {
  std::vector<MarkedString> parts;
  std::size_t end = text.size();
  while (parts.size() < cuts_max && end >= separator.size()) {
    const std::size_t found = text.text().rfind(separator, end - separator.size());
    if (found == std::string::npos) break;
    parts.push_back(text.Part(found + separator.size(), end - found - separator.size()));
    end = found;
  }
  parts.push_back(text.Part(0, end));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<MarkedString> SplitFromLeft(const MarkedString& text, std::string_view separator,
                                        std::size_t cuts_max) {
  std::vector<MarkedString> parts;
  std::size_t begin = 0;
  while (parts.size() < cuts_max) {
    const std::size_t found = text.text().find(separator, begin);
    if (found == std::string::npos) break;
    parts.push_back(text.Part(begin, found - begin));
    begin = found + separator.size();
  }
  parts.push_back(text.Part(begin));
  return parts;
}

}  // namespace

void MarkedString::Append(const MarkedString& more) {
  text_ += more.text_;
  origins_ += more.origins_;
}

void MarkedString::Append(std::string_view more, Origin origin) {
  text_ += more;
  origins_.append(more.size(), static_cast<char>(origin));
}

MarkedString MarkedString::Part(std::size_t begin, std::size_t size) const {
  MarkedString part;
  begin = std::min(begin, text_.size());
  part.text_ = text_.substr(begin, size);
  part.origins_ = origins_.substr(begin, size);
  return part;
}

std::vector<std::size_t> MarkedString::CharacterOffsets() const {
  std::vector<std::size_t> offsets;
  for (std::size_t at = 0; at < text_.size();) {
    offsets.push_back(at);
    at += DecodeCharacter(std::string_view(text_).substr(at)).size;
  }
  offsets.push_back(text_.size());
  return offsets;
}

std::size_t MarkedString::CharacterCount() const { return CharacterOffsets().size() - 1; }

MarkedString Strip(const MarkedString& text, Sides sides, std::optional<std::string_view> set) {
  const std::vector<std::size_t> offsets = text.CharacterOffsets();
  const auto drops = [&](std::size_t character) {
    const std::string_view rest = std::string_view(text.text()).substr(offsets[character]);
    const char32_t code = DecodeCharacter(rest).code;
    return set ? InSet(*set, code) : IsSpace(code);
  };
  std::size_t first = 0;
  std::size_t last = offsets.size() - 1;
  if (sides != Sides::kRight) {
    while (first < last && drops(first)) ++first;
  }
  if (sides != Sides::kLeft) {
    while (last > first && drops(last - 1)) --last;
  }
  return text.Part(offsets[first], offsets[last] - offsets[first]);
}

std::vector<MarkedString> Split(const MarkedString& text, const SplitOptions& options) {
  const std::size_t cuts_max = options.cuts_max.value_or(std::string::npos);
  if (!options.separator) return SplitAtSpaces(text, cuts_max);
  SHOAL_CHECK(!options.separator->empty());
  return options.from_right ? SplitFromRight(text, *options.separator, cuts_max)
                            : SplitFromLeft(text, *options.separator, cuts_max);
}

std::vector<MarkedString> SplitLines(const MarkedString& text) {
  std::vector<MarkedString> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.size(), text.text().find_first_of("\r\n", begin));
    lines.push_back(text.Part(begin, end - begin));
    begin = text.text().compare(end, 2, "\r\n") == 0 ? end + 2 : end + 1;
  }
  return lines;
}

MarkedString Replace(const MarkedString& text, std::string_view from, const MarkedString& to,
                     std::optional<std::size_t> count) {
  if (from.empty()) return text;
  MarkedString out;
  std::size_t begin = 0;
  for (std::size_t done = 0; !count || done < *count; ++done) {
    const std::size_t found = text.text().find(from, begin);
    if (found == std::string::npos) break;
    out.Append(text.Part(begin, found - begin));
    out.Append(to);
    begin = found + from.size();
  }
  out.Append(text.Part(begin));
  return out;
}

MarkedString Upper(const MarkedString& text) {
  return MapCharacters(text, [](char32_t code, bool) { return ToUpper(code); });
}

MarkedString Lower(const MarkedString& text) {
  return MapCharacters(text, [](char32_t code, bool) { return ToLower(code); });
}

MarkedString Title(const MarkedString& text) {
  return MapCharacters(text, [](char32_t code, bool begins_word) {
    return begins_word ? ToUpper(code) : ToLower(code);
  });
}

MarkedString Capitalize(const MarkedString& text) {
  bool first = true;
  return MapCharacters(text, [&first](char32_t code, bool) {
    return std::exchange(first, false) ? ToUpper(code) : ToLower(code);
  });
}

}  // namespace shoal::llm
