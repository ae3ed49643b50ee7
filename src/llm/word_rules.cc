#include <algorithm>
#include <array>
#include <string_view>

#include "llm/word_rules_internal.h"

namespace shoal::llm::internal {
namespace {

// Upper and lower case overlap in the expressions: letters without case and marks are in both.
constexpr int kUpperLike = kLetterUpper | kLetterOther | kMark;
constexpr int kLowerLike = kLetterLower | kLetterOther | kMark;

constexpr auto kIsLetter = [](const Character& c) { return c.Is(kLetter); };
constexpr auto kIsLetterOrMark = [](const Character& c) { return c.Is(kLetter | kMark); };
constexpr auto kIsNumber = [](const Character& c) { return c.Is(kNumber); };
constexpr auto kIsSpace = [](const Character& c) { return c.Is(kSpace); };
constexpr auto kIsNewline = [](const Character& c) { return c.Is(kNewline); };
constexpr auto kIsBlank = [](const Character& c) { return c.code == ' '; };
constexpr auto kIsOther = [](const Character& c) { return !c.Is(kSpace | kLetter | kNumber); };
constexpr auto kCanPrefix = [](const Character& c) { return !c.Is(kNewline | kLetter | kNumber); };

// How far characters like this go.
template <class Predicate>
std::size_t Run(Characters text, std::size_t at, Predicate is) {
  while (at < text.size() && is(text[at])) ++at;
  return at;
}

// "P?X+": with the prefix if X follows it, else without.
template <class Prefix, class Predicate>
std::size_t PrefixedRun(Characters text, std::size_t at, Prefix is_prefix, Predicate is) {
  if (at < text.size() && is_prefix(text[at])) {
    const std::size_t end = Run(text, at + 1, is);
    if (end > at + 1) return end;
  }
  return Run(text, at, is);
}

// "P?X+T*"
template <class Prefix, class Predicate, class Tail>
std::size_t PrefixedRunAndTail(Characters text, std::size_t at, Prefix is_prefix, Predicate is,
                               Tail is_tail) {
  const std::size_t end = PrefixedRun(text, at, is_prefix, is);
  return end == at ? at : Run(text, end, is_tail);
}

char32_t LowerAscii(char32_t code) { return code >= 'A' && code <= 'Z' ? code + 32 : code; }

bool Continues(Characters text, std::size_t at, std::string_view letters, bool any_case) {
  if (text.size() - at < letters.size()) return false;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const char32_t code = text[at + i].code;
    if ((any_case ? LowerAscii(code) : code) != static_cast<char32_t>(letters[i])) return false;
  }
  return true;
}

std::size_t MatchContraction(Characters text, std::size_t at, bool any_case) {
  if (at >= text.size() || text[at].code != '\'') return at;
  for (const std::string_view letters : {"s", "t", "re", "ve", "m", "ll", "d"}) {
    if (Continues(text, at + 1, letters, any_case)) return at + 1 + letters.size();
  }
  return at;
}

// "U*L+" at `at`.
std::size_t UpperThenLower(Characters text, std::size_t at) {
  const std::size_t uppers = Run(text, at, [](const Character& c) { return c.Is(kUpperLike); });
  const std::size_t end = Run(text, uppers, [](const Character& c) { return c.Is(kLowerLike); });
  if (end > uppers) return end;
  // L+ found nothing: U* gives back, up to the last character that is in both.
  for (std::size_t back = uppers; back > at; --back) {
    if (text[back - 1].Is(kLowerLike)) return back;
  }
  return at;
}

// "U+L*" at `at`.
std::size_t UpperMaybeLower(Characters text, std::size_t at) {
  const std::size_t uppers = Run(text, at, [](const Character& c) { return c.Is(kUpperLike); });
  if (uppers == at) return at;
  return Run(text, uppers, [](const Character& c) { return c.Is(kLowerLike); });
}

template <class Body>
std::size_t Prefixed(Characters text, std::size_t at, Body body) {
  if (at < text.size() && kCanPrefix(text[at])) {
    const std::size_t end = body(text, at + 1);
    if (end > at + 1) return end;
  }
  return body(text, at);
}

template <class Body>
std::size_t PrefixedContraction(Characters text, std::size_t at, Body body) {
  const std::size_t end = Prefixed(text, at, body);
  return end == at ? at : MatchContraction(text, end, /*any_case=*/true);
}

struct Range {
  char32_t first;
  char32_t last;
};

// The letters with case that DeepSeek's expression spells out; nearly, but not quite, a category.
constexpr std::array kCasedLetters = std::to_array<Range>({
    {0x41, 0x5A},       {0x61, 0x7A},       {0xB5, 0xB5},       {0xC0, 0xD6},
    {0xD8, 0xF6},       {0xF8, 0x1BA},      {0x1BC, 0x1BF},     {0x1C4, 0x293},
    {0x295, 0x2AF},     {0x370, 0x373},     {0x376, 0x376},     {0x377, 0x377},
    {0x37B, 0x37D},     {0x37F, 0x37F},     {0x386, 0x386},     {0x388, 0x38A},
    {0x38C, 0x38C},     {0x38E, 0x3A1},     {0x3A3, 0x3F5},     {0x3F7, 0x481},
    {0x48A, 0x52F},     {0x531, 0x556},     {0x10A0, 0x10C5},   {0x13A0, 0x13F5},
    {0x13F8, 0x13FD},   {0x1C90, 0x1CBA},   {0x1CBD, 0x1CBF},   {0x1D00, 0x1D2B},
    {0x1D6B, 0x1D77},   {0x1D79, 0x1D9A},   {0x1E00, 0x1F15},   {0x1F18, 0x1F1D},
    {0x1F20, 0x1F45},   {0x1F48, 0x1F4D},   {0x1F50, 0x1F57},   {0x1F59, 0x1F59},
    {0x1F5B, 0x1F5B},   {0x1F5D, 0x1F5D},   {0x1F5F, 0x1F7D},   {0x1F80, 0x1FB4},
    {0x1FB6, 0x1FBC},   {0x1FBE, 0x1FBE},   {0x1FC2, 0x1FC4},   {0x1FC6, 0x1FCC},
    {0x1FD0, 0x1FD3},   {0x1FD6, 0x1FDB},   {0x1FE0, 0x1FEC},   {0x1FF2, 0x1FF4},
    {0x1FF6, 0x1FFC},   {0x2102, 0x2102},   {0x2107, 0x2107},   {0x210A, 0x2113},
    {0x2115, 0x2115},   {0x2119, 0x211D},   {0x2124, 0x2124},   {0x2126, 0x2126},
    {0x2128, 0x2128},   {0x212A, 0x212D},   {0x212F, 0x2134},   {0x2139, 0x2139},
    {0x213C, 0x213F},   {0x2145, 0x2149},   {0x214E, 0x214E},   {0x2183, 0x2183},
    {0x2184, 0x2184},   {0x2C00, 0x2C7B},   {0x2C7E, 0x2CE4},   {0x2CEB, 0x2CEE},
    {0x2CF2, 0x2CF2},   {0x2CF3, 0x2CF3},   {0xA640, 0xA66D},   {0xA680, 0xA69B},
    {0xA722, 0xA76F},   {0xA771, 0xA787},   {0xA78B, 0xA78E},   {0xAB70, 0xABBF},
    {0xFB00, 0xFB06},   {0xFB13, 0xFB17},   {0xFF21, 0xFF3A},   {0xFF41, 0xFF5A},
    {0x10400, 0x1044F}, {0x104B0, 0x104D3}, {0x104D8, 0x104FB}, {0x10C80, 0x10CB2},
    {0x10CC0, 0x10CF2}, {0x118A0, 0x118DF}, {0x1E900, 0x1E943},
});
constexpr std::array kDeepSeekMarks = std::to_array<Range>({
    {'!', '/'},
    {':', '~'},
    {0x2018, 0x201F},
    {0x3000, 0x3002},
    {0xFF01, 0xFF0F},
    {0xFF1A, 0xFF5E},
});
constexpr std::array kCjkOrHangul = std::to_array<Range>({{0x800, 0x9FA5}, {0xAC00, 0xD7FF}});
constexpr std::array kCjkOrKana = std::to_array<Range>({{0x3040, 0x30FF}, {0x4E00, 0x9FA5}});

// REQUIRES: `ranges` are sorted and apart.
template <std::size_t kSize>
bool InRanges(const std::array<Range, kSize>& ranges, char32_t code) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), code,
                       [](char32_t c, const Range& range) { return c < range.first; });
  return after != ranges.begin() && code <= std::prev(after)->last;
}

bool IsAsciiLetter(const Character& c) { return c.code < 128 && c.Is(kLetter); }
bool IsAsciiMark(const Character& c) { return c.code < 128 && c.Is(kPunctuation | kSymbol); }

}  // namespace

std::size_t Contraction(Characters text, std::size_t at) {
  return MatchContraction(text, at, /*any_case=*/false);
}

std::size_t ContractionAnyCase(Characters text, std::size_t at) {
  return MatchContraction(text, at, /*any_case=*/true);
}

std::size_t SpaceLetters(Characters text, std::size_t at) {
  return PrefixedRun(text, at, kIsBlank, kIsLetter);
}

std::size_t SpaceNumbers(Characters text, std::size_t at) {
  return PrefixedRun(text, at, kIsBlank, kIsNumber);
}

std::size_t SpaceOthers(Characters text, std::size_t at) {
  return PrefixedRun(text, at, kIsBlank, kIsOther);
}

std::size_t SpacesBeforeLast(Characters text, std::size_t at) {
  const std::size_t end = Run(text, at, kIsSpace);
  if (end == text.size() || end == at) return end;
  return end - 1;  // The last one goes with the word that follows.
}

std::size_t Spaces(Characters text, std::size_t at) { return Run(text, at, kIsSpace); }

std::size_t SpacesToNewline(Characters text, std::size_t at) {
  std::size_t end = Run(text, at, kIsSpace);
  while (end > at && !text[end - 1].Is(kNewline)) --end;
  return end;
}

std::size_t SpacesAtEnd(Characters text, std::size_t at) {
  // Inside a run that did not reach the end; looking again from each place would be quadratic.
  if (at > 0 && text[at - 1].Is(kSpace)) return at;
  const std::size_t end = Run(text, at, kIsSpace);
  return end == text.size() ? end : at;
}

std::size_t OneNumber(Characters text, std::size_t at) {
  return at < text.size() && text[at].Is(kNumber) ? at + 1 : at;
}

std::size_t UpToThreeNumbers(Characters text, std::size_t at) {
  return Run(text.first(std::min(text.size(), at + 3)), at, kIsNumber);
}

std::size_t Numbers(Characters text, std::size_t at) { return Run(text, at, kIsNumber); }

std::size_t PrefixedLetters(Characters text, std::size_t at) {
  return PrefixedRun(text, at, kCanPrefix, kIsLetter);
}

std::size_t PrefixedLettersMarks(Characters text, std::size_t at) {
  return PrefixedRun(text, at, kCanPrefix, kIsLetterOrMark);
}

std::size_t OthersToNewline(Characters text, std::size_t at) {
  return PrefixedRunAndTail(text, at, kIsBlank, kIsOther, kIsNewline);
}

std::size_t OthersNoMarksToNewline(Characters text, std::size_t at) {
  return PrefixedRunAndTail(
      text, at, kIsBlank, [](const Character& c) { return kIsOther(c) && !c.Is(kMark); },
      kIsNewline);
}

std::size_t OthersToSlash(Characters text, std::size_t at) {
  return PrefixedRunAndTail(text, at, kIsBlank, kIsOther,
                            [](const Character& c) { return c.Is(kNewline) || c.code == '/'; });
}

std::size_t CasedLower(Characters text, std::size_t at) {
  return Prefixed(text, at, UpperThenLower);
}

std::size_t CasedUpper(Characters text, std::size_t at) {
  return Prefixed(text, at, UpperMaybeLower);
}

std::size_t CasedLowerContraction(Characters text, std::size_t at) {
  return PrefixedContraction(text, at, UpperThenLower);
}

std::size_t CasedUpperContraction(Characters text, std::size_t at) {
  return PrefixedContraction(text, at, UpperMaybeLower);
}

std::size_t OneNewline(Characters text, std::size_t at) {
  return at < text.size() && text[at].Is(kNewline) ? at + 1 : at;
}

std::size_t AnySpaceCasedLetters(Characters text, std::size_t at) {
  return PrefixedRun(text, at, kIsSpace,
                     [](const Character& c) { return InRanges(kCasedLetters, c.code); });
}

std::size_t AnySpaceMarks(Characters text, std::size_t at) {
  return PrefixedRun(text, at, kIsSpace,
                     [](const Character& c) { return InRanges(kDeepSeekMarks, c.code); });
}

std::size_t AnySpaceLetters(Characters text, std::size_t at) {
  return PrefixedRun(text, at, kIsSpace, kIsLetter);
}

std::size_t AnySpacePunctuation(Characters text, std::size_t at) {
  return PrefixedRun(text, at, kIsSpace, [](const Character& c) { return c.Is(kPunctuation); });
}

std::size_t CjkOrHangul(Characters text, std::size_t at) {
  return Run(text, at, [](const Character& c) { return InRanges(kCjkOrHangul, c.code); });
}

std::size_t CjkOrKana(Characters text, std::size_t at) {
  return Run(text, at, [](const Character& c) { return InRanges(kCjkOrKana, c.code); });
}

std::size_t MarkedAsciiLetters(Characters text, std::size_t at) {
  if (at >= text.size() || !IsAsciiMark(text[at])) return at;
  const std::size_t end = Run(text, at + 1, IsAsciiLetter);
  return end > at + 1 ? end : at;
}

std::size_t PrefixedLettersV3(Characters text, std::size_t at) {
  return PrefixedRun(
      text, at,
      [](const Character& c) { return !c.Is(kNewline | kLetter | kPunctuation | kSymbol); },
      kIsLetterOrMark);
}

std::size_t SpacePunctuationToNewline(Characters text, std::size_t at) {
  return PrefixedRunAndTail(
      text, at, kIsBlank, [](const Character& c) { return c.Is(kPunctuation | kSymbol); },
      kIsNewline);
}

}  // namespace shoal::llm::internal
