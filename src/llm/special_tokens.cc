#include <algorithm>
#include <tuple>

#include "llm/sentence_pieces_internal.h"
#include "llm/special_tokens_internal.h"

namespace shoal::llm::internal {
namespace {

bool IsBracketedName(std::string_view text) {
  return text.size() > 2 && text.front() == '[' && text.back() == ']' &&
         std::all_of(text.begin() + 1, text.end() - 1, [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '/';
         });
}

// Converters have marked many a token that separates the turns of a chat as user-defined
// (DeepSeek-R1's <｜User｜>, Phi-3's </s>): by its looks it is a control token.
bool LooksLikeControl(std::string_view text) {
  static constexpr std::string_view kNames[] = {
      "<s>", "</s>", "<bos>", "<eos>", "<pad>", "<unk>", "<start_of_turn>", "<end_of_turn>"};
  return (text.starts_with("<|") && text.ends_with("|>")) ||
         (text.starts_with("<｜") && text.ends_with("｜>")) || IsBracketedName(text) ||
         std::find(std::begin(kNames), std::end(kNames), text) != std::end(kNames);
}

unsigned char FirstByte(const std::string& text) { return static_cast<unsigned char>(text[0]); }

}  // namespace

SpecialTokenFinder::SpecialTokenFinder(const Vocabulary& vocabulary) : first_byte_{} {
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const TokenType type = vocabulary.types[id];
    const bool user_defined = type == TokenType::kUserDefined;
    if (!user_defined && type != TokenType::kControl && type != TokenType::kUnknown) continue;
    std::string text = vocabulary.tokens[id];
    if (vocabulary.model == TokenModel::kSentencePiece) text = UnescapeSpaces(text);
    if (text.empty()) continue;
    const bool everywhere = user_defined && !LooksLikeControl(text);
    entries_.push_back(
        {.text = std::move(text), .id = static_cast<TokenId>(id), .everywhere = everywhere});
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.text, a.id) < std::tie(b.text, b.id);
  });
  for (const Entry& entry : entries_) ++first_byte_[FirstByte(entry.text) + std::size_t{1}];
  for (std::size_t i = 1; i < first_byte_.size(); ++i) first_byte_[i] += first_byte_[i - 1];
}

std::optional<SpecialMatch> SpecialTokenFinder::FindAt(std::string_view text, std::size_t at,
                                                       std::size_t trusted_end) const {
  const auto byte = static_cast<unsigned char>(text[at]);
  auto first = entries_.begin() + static_cast<std::ptrdiff_t>(first_byte_[byte]);
  auto last = entries_.begin() + static_cast<std::ptrdiff_t>(first_byte_[byte + std::size_t{1}]);
  std::optional<SpecialMatch> longest;
  // [first, last) agree with the text in `size` bytes; a token of just that size comes first.
  for (std::size_t size = 1; first != last; ++size) {
    if (first->text.size() == size) {
      if (first->everywhere || at + size <= trusted_end) {
        longest = SpecialMatch{.begin = at, .end = at + size, .id = first->id};
      }
      while (first != last && first->text.size() == size) ++first;
    }
    if (at + size == text.size()) break;
    const auto next = static_cast<unsigned char>(text[at + size]);
    first = std::lower_bound(first, last, next, [size](const Entry& entry, unsigned char wanted) {
      return static_cast<unsigned char>(entry.text[size]) < wanted;
    });
    last = std::upper_bound(first, last, next, [size](unsigned char wanted, const Entry& entry) {
      return wanted < static_cast<unsigned char>(entry.text[size]);
    });
  }
  return longest;
}

std::vector<SpecialMatch> SpecialTokenFinder::FindAll(std::string_view text,
                                                      std::span<const TrustedRange> trusted) const {
  std::vector<SpecialMatch> matches;
  if (entries_.empty()) return matches;
  for (std::size_t at = 0; at < text.size();) {
    while (!trusted.empty() && trusted[0].end <= at) trusted = trusted.subspan(1);
    const bool inside = !trusted.empty() && trusted[0].begin <= at;
    const auto match = FindAt(text, at, inside ? trusted[0].end : 0);
    if (match) matches.push_back(*match);
    at = match ? match->end : at + 1;
  }
  return matches;
}

}  // namespace shoal::llm::internal
