#include "llm/pre_tokenizer.h"

#include <algorithm>

#include "llm/utf8.h"
#include "llm/word_rules_internal.h"

namespace shoal::llm {

using internal::Character;
using internal::Characters;
using internal::Rule;

// One regular expression: its text in tokenizer.json, and its alternatives.
struct Expression {
  std::string_view text;
  std::span<const Rule> rules;
};

// Expressions are applied one after the other, each inside the pieces that the one before left:
// its matches become pieces, and so does what lies between them.
class PreTokenizer {
 public:
  std::span<const std::string_view> names;
  std::span<const Expression> expressions;
};

namespace {

constexpr Rule kGpt2Rules[] = {internal::Contraction,      internal::SpaceLetters,
                               internal::SpaceNumbers,     internal::SpaceOthers,
                               internal::SpacesBeforeLast, internal::Spaces};
constexpr Rule kDigitRules[] = {internal::OneNumber};
constexpr Rule kUpToThreeDigitRules[] = {internal::UpToThreeNumbers};
constexpr Rule kLlama3Rules[] = {internal::ContractionAnyCase,
                                 internal::PrefixedLetters,
                                 internal::UpToThreeNumbers,
                                 internal::OthersToNewline,
                                 internal::SpacesToNewline,
                                 internal::SpacesBeforeLast,
                                 internal::Spaces};
constexpr Rule kQwen2Rules[] = {internal::ContractionAnyCase,
                                internal::PrefixedLetters,
                                internal::OneNumber,
                                internal::OthersToNewline,
                                internal::SpacesToNewline,
                                internal::SpacesBeforeLast,
                                internal::Spaces};
constexpr Rule kQwen35Rules[] = {internal::ContractionAnyCase,
                                 internal::PrefixedLettersMarks,
                                 internal::OneNumber,
                                 internal::OthersNoMarksToNewline,
                                 internal::SpacesToNewline,
                                 internal::SpacesBeforeLast,
                                 internal::Spaces};
constexpr Rule kTekkenRules[] = {internal::CasedLower,      internal::CasedUpper,
                                 internal::OneNumber,       internal::OthersToSlash,
                                 internal::SpacesToNewline, internal::SpacesBeforeLast,
                                 internal::Spaces};
constexpr Rule kGpt4oRules[] = {internal::CasedLowerContraction,
                                internal::CasedUpperContraction,
                                internal::UpToThreeNumbers,
                                internal::OthersToSlash,
                                internal::SpacesToNewline,
                                internal::SpacesBeforeLast,
                                internal::Spaces};
constexpr Rule kNewlineRules[] = {internal::OneNewline};
constexpr Rule kCasedLetterRules[] = {internal::AnySpaceCasedLetters};
constexpr Rule kMarkRules[] = {internal::AnySpaceMarks};
constexpr Rule kSpacesAtEndRules[] = {internal::SpacesAtEnd};
constexpr Rule kCjkOrHangulRules[] = {internal::CjkOrHangul};
constexpr Rule kNumberRules[] = {internal::Numbers};
constexpr Rule kAnySpaceLetterRules[] = {internal::AnySpaceLetters};
constexpr Rule kAnySpacePunctuationRules[] = {internal::AnySpacePunctuation};
constexpr Rule kCjkOrKanaRules[] = {internal::CjkOrKana};
constexpr Rule kDeepSeekV3Rules[] = {
    internal::MarkedAsciiLetters, internal::PrefixedLettersV3, internal::SpacePunctuationToNewline,
    internal::SpacesToNewline,    internal::SpacesBeforeLast,  internal::Spaces};

constexpr Expression kGpt2[] = {{"gpt2", kGpt2Rules}};
constexpr Expression kDigitsGpt2[] = {{"digits", kDigitRules}, {"gpt2", kGpt2Rules}};
constexpr Expression kLlama3[] = {
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
     R"(|\s*[\r\n]+|\s+(?!\S)|\s+)",
     kLlama3Rules}};
constexpr Expression kQwen2[] = {
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
     R"(|\s*[\r\n]+|\s+(?!\S)|\s+)",
     kQwen2Rules}};
constexpr Expression kQwen35[] = {
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N})"
     R"(| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     kQwen35Rules}};
constexpr Expression kTekken[] = {
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
     R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
     R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     kTekkenRules}};
constexpr Expression kGpt4o[] = {
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
     R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
     R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     kGpt4oRules}};
// An empty text: models that use it are known by name only.
constexpr Expression kDeepSeekLlm[] = {{"", kNewlineRules},     {"", kCasedLetterRules},
                                       {"", kMarkRules},        {"", kSpacesAtEndRules},
                                       {"", kCjkOrHangulRules}, {"", kNumberRules}};
constexpr Expression kDeepSeekCoder[] = {{"[\r\n]", kNewlineRules},
                                         {R"(\s?\p{L}+)", kAnySpaceLetterRules},
                                         {R"(\s?\p{P}+)", kAnySpacePunctuationRules},
                                         {"[一-龥ࠀ-一가-퟿]+", kCjkOrHangulRules},
                                         {"digits", kDigitRules}};
constexpr Expression kDeepSeekV3[] = {
    {R"(\p{N}{1,3})", kUpToThreeDigitRules},
    {"[一-龥぀-ゟ゠-ヿ]+", kCjkOrKanaRules},
    {R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+)"
     "|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+"
     "|\\s+(?!\\S)|\\s+",
     kDeepSeekV3Rules}};

// The first name of each is the one that NamePreTokenizer gives.
constexpr std::string_view kGpt2Names[] = {"gpt-2", "jais",     "mpt",     "olmo",
                                           "phi-2", "trillion", "gigachat"};
constexpr std::string_view kDigitsGpt2Names[] = {"smollm",     "codeshell", "command-r", "exaone",
                                                 "minerva-7b", "refact",    "starcoder"};
constexpr std::string_view kLlama3Names[] = {"llama-bpe", "chatglm-bpe", "dbrx",      "falcon3",
                                             "falcon-h1", "glm4",        "lfm2",      "llama-v3",
                                             "llama3",    "midm-2.0",    "smaug-bpe", "pixtral"};
constexpr std::string_view kQwen2Names[] = {"qwen2",  "deepseek-r1-qwen", "grok-2",   "hunyuan",
                                            "megrez", "solar-open",       "stablelm2"};
constexpr std::string_view kQwen35Names[] = {"qwen35"};
constexpr std::string_view kTekkenNames[] = {"tekken"};
constexpr std::string_view kGpt4oNames[] = {"gpt-4o", "kanana2", "llama4"};
constexpr std::string_view kDeepSeekLlmNames[] = {"deepseek-llm"};
constexpr std::string_view kDeepSeekCoderNames[] = {"deepseek-coder"};
constexpr std::string_view kDeepSeekV3Names[] = {"deepseek-v3", "hunyuan-dense"};

constexpr PreTokenizer kPreTokenizers[] = {
    {kGpt2Names, kGpt2},
    {kDigitsGpt2Names, kDigitsGpt2},
    {kLlama3Names, kLlama3},
    {kQwen2Names, kQwen2},
    {kQwen35Names, kQwen35},
    {kTekkenNames, kTekken},
    {kGpt4oNames, kGpt4o},
    {kDeepSeekLlmNames, kDeepSeekLlm},
    {kDeepSeekCoderNames, kDeepSeekCoder},
    {kDeepSeekV3Names, kDeepSeekV3},
};

std::string ListOfNames() {
  std::string list;
  for (const std::string_view name : PreTokenizerNames()) {
    list.append(list.empty() ? "" : ", ").append(name);
  }
  return list;
}

bool SameSteps(std::span<const Expression> expressions, std::span<const std::string> steps) {
  return std::equal(
      expressions.begin(), expressions.end(), steps.begin(), steps.end(),
      [](const Expression& a, const std::string& b) { return !a.text.empty() && a.text == b; });
}

std::vector<Character> Decode(std::string_view text) {
  std::vector<Character> characters;
  characters.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const DecodedCharacter decoded = DecodeCharacter(text.substr(at));
    characters.push_back({.code = decoded.code, .classes = ClassesOf(decoded.code), .offset = at});
    at += decoded.size;
  }
  return characters;
}

std::size_t Match(std::span<const Rule> rules, Characters piece, std::size_t at) {
  for (const Rule rule : rules) {
    if (const std::size_t end = rule(piece, at); end > at) return end;
  }
  return at;
}

// Cuts one piece; `pieces` get lengths.
void Cut(std::span<const Rule> rules, Characters piece, std::vector<std::size_t>& lengths) {
  std::size_t unmatched = 0;
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t end = Match(rules, piece, at);
    if (end == at) {
      ++unmatched;
      ++at;
      continue;
    }
    if (unmatched > 0) lengths.push_back(unmatched);
    unmatched = 0;
    lengths.push_back(end - at);
    at = end;
  }
  if (unmatched > 0) lengths.push_back(unmatched);
}

}  // namespace

Result<const PreTokenizer*> FindPreTokenizer(std::string_view name) {
  for (const PreTokenizer& candidate : kPreTokenizers) {
    const auto end = candidate.names.end();
    if (std::find(candidate.names.begin(), end, name) != end) return &candidate;
  }
  return Status(Code::kInvalidArgument, "pre-tokenizer '" + std::string(name) +
                                            "' is not supported; supported are " + ListOfNames());
}

Result<std::string> NamePreTokenizer(std::span<const std::string> steps) {
  for (const PreTokenizer& candidate : kPreTokenizers) {
    if (SameSteps(candidate.expressions, steps)) return std::string(candidate.names[0]);
  }
  std::string list;
  for (const std::string& step : steps) list.append(list.empty() ? "" : ", then ").append(step);
  return Status(Code::kInvalidArgument, "a pre-tokenizer of this kind is not supported: " +
                                            (list.empty() ? std::string("none at all") : list) +
                                            "; supported are those of " + ListOfNames());
}

std::vector<std::string_view> PreTokenizerNames() {
  std::vector<std::string_view> names;
  for (const PreTokenizer& each : kPreTokenizers) {
    names.insert(names.end(), each.names.begin(), each.names.end());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void SplitWords(const PreTokenizer& pre_tokenizer, std::string_view text,
                std::vector<std::string_view>& words) {
  const std::vector<Character> characters = Decode(text);
  std::vector<std::size_t> lengths = {characters.size()};
  std::vector<std::size_t> cut;
  for (const Expression& expression : pre_tokenizer.expressions) {
    cut.clear();
    std::size_t begin = 0;
    for (const std::size_t length : lengths) {
      Cut(expression.rules, Characters(characters).subspan(begin, length), cut);
      begin += length;
    }
    lengths.swap(cut);
  }
  std::size_t begin = 0;
  for (const std::size_t length : lengths) {
    if (length == 0) continue;
    const std::size_t end = begin + length;
    const std::size_t from = characters[begin].offset;
    const std::size_t to = end < characters.size() ? characters[end].offset : text.size();
    words.push_back(text.substr(from, to - from));
    begin = end;
  }
}

}  // namespace shoal::llm
