#include "llm/tokenizer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "llm/byte_alphabet.h"
#include "llm/byte_pairs_internal.h"
#include "llm/check_vocabulary_internal.h"
#include "llm/sentence_pieces_internal.h"
#include "llm/special_tokens_internal.h"
#include "llm/token_index.h"
#include "llm/unicode.h"
#include "llm/utf8.h"

namespace shoal::llm {

using internal::BytePairs;
using internal::SentencePieces;
using internal::SpecialMatch;
using internal::SpecialTokenFinder;
using internal::TrustedRange;

struct Tokenizer::Parts {
  explicit Parts(Vocabulary v) : vocabulary(std::move(v)), specials(vocabulary) {}

  Vocabulary vocabulary;
  TokenIndex index;
  SpecialTokenFinder specials;
  std::optional<BytePairs> byte_pairs;            // One of the two,
  std::optional<SentencePieces> sentence_pieces;  // as the vocabulary's model says.
  std::vector<TokenId> answer_ends;               // Sorted.

  std::vector<TokenId> EncodeTrusted(std::string_view text,
                                     std::span<const TrustedRange> trusted) const;
  void EncodeRaw(std::string_view text, bool at_start, std::vector<TokenId>& out) const;
};

namespace {

// Tokens that end an answer by convention; files often name only one of those a model uses.
constexpr std::string_view kAnswerEnds[] = {
    "<|eot_id|>",     "<|im_end|>", "<|end|>", "<end_of_turn>",   "<|endoftext|>",
    "<|eom_id|>",     "</s>",       "<eos>",   "<|end_of_text|>", "<｜end▁of▁sentence｜>",
    "<|end_of_turn|>"};

std::vector<TokenId> FindAnswerEnds(const Vocabulary& vocabulary, const TokenIndex& index) {
  std::vector<TokenId> ends;
  if (vocabulary.eos) ends.push_back(*vocabulary.eos);
  if (vocabulary.eot) ends.push_back(*vocabulary.eot);
  for (const std::string_view name : kAnswerEnds) {
    if (const std::optional<TokenId> id = index.Find(name)) ends.push_back(*id);
  }
  std::sort(ends.begin(), ends.end());
  return ends;
}

bool Contains(std::span<const TokenId> ids, TokenId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

constexpr std::string_view kWhiteSpace = " \t\n\r\f\v";

std::string_view TrimStart(std::string_view text) {
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(kWhiteSpace)));
  return text;
}

std::string_view TrimEnd(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kWhiteSpace) + 1);
}

}  // namespace

Result<Tokenizer> Tokenizer::Create(Vocabulary vocabulary) {
  SHOAL_RETURN_IF_ERROR(internal::CheckVocabulary(vocabulary));
  auto parts = std::make_shared<Parts>(std::move(vocabulary));
  const Vocabulary& v = parts->vocabulary;
  SHOAL_ASSIGN_OR_RETURN(parts->index, TokenIndex::Make(v.tokens));
  if (v.model == TokenModel::kBytePairs) {
    SHOAL_ASSIGN_OR_RETURN(parts->byte_pairs, BytePairs::Make(v, parts->index));
  } else {
    parts->sentence_pieces.emplace(v, parts->index);
  }
  parts->answer_ends = FindAnswerEnds(v, parts->index);
  return Tokenizer(std::move(parts));
}

std::vector<TokenId> Tokenizer::Encode(std::string_view text, const EncodeOptions& options) const {
  const TextSegment segment{.text = std::string(text), .special = options.special};
  return Encode({&segment, 1}, options.add_ends);
}

std::vector<TokenId> Tokenizer::Encode(std::span<const TextSegment> segments, bool add_ends) const {
  std::string text;
  std::vector<TrustedRange> trusted;
  for (const TextSegment& segment : segments) {
    const std::size_t begin = text.size();
    text += ReplaceInvalidUtf8(segment.text);
    if (segment.special != SpecialTokens::kParse) continue;
    if (!trusted.empty() && trusted.back().end == begin) {
      trusted.back().end = text.size();
    } else {
      trusted.push_back({.begin = begin, .end = text.size()});
    }
  }
  const Vocabulary& v = vocabulary();
  std::vector<TokenId> ids = parts_->EncodeTrusted(text, trusted);
  if (add_ends && v.add_bos) ids.insert(ids.begin(), *v.bos);
  if (add_ends && v.add_eos) ids.push_back(*v.eos);
  return ids;
}

std::vector<TokenId> Tokenizer::Parts::EncodeTrusted(std::string_view text,
                                                     std::span<const TrustedRange> trusted) const {
  std::vector<TokenId> ids;
  std::size_t begin = 0;
  std::optional<TokenId> previous;
  const auto encode_up_to = [&](std::size_t end, std::optional<TokenId> next) {
    std::string_view raw = text.substr(begin, end - begin);
    if (previous && Contains(vocabulary.strip_right, *previous)) raw = TrimStart(raw);
    if (next && Contains(vocabulary.strip_left, *next)) raw = TrimEnd(raw);
    EncodeRaw(raw, begin == 0 || previous.has_value(), ids);
  };
  for (const SpecialMatch& match : specials.FindAll(text, trusted)) {
    encode_up_to(match.begin, match.id);
    ids.push_back(match.id);
    previous = match.id;
    begin = match.end;
  }
  encode_up_to(text.size(), std::nullopt);
  return ids;
}

// Text between special tokens.
void Tokenizer::Parts::EncodeRaw(std::string_view text, bool at_start,
                                 std::vector<TokenId>& out) const {
  if (text.empty()) return;
  std::string changed;
  if (vocabulary.compose) {
    changed = ComposedForm(text);
    text = changed;
  }
  if (byte_pairs) {
    byte_pairs->Encode(text, out);
  } else if (vocabulary.add_space_prefix && at_start) {
    sentence_pieces->Encode(std::string(" ").append(text), out);
  } else {
    sentence_pieces->Encode(text, out);
  }
}

std::string Tokenizer::TokenBytes(TokenId id) const {
  SHOAL_CHECK(Has(id));
  const std::string& token = vocabulary().tokens[static_cast<std::size_t>(id)];
  const TokenType type = vocabulary().types[static_cast<std::size_t>(id)];
  if (parts_->sentence_pieces) {
    if (type == TokenType::kByte) {
      if (const std::optional<char> byte = SentencePieces::ByteOf(token)) return {*byte};
    }
    return internal::UnescapeSpaces(token);
  }
  if (type != TokenType::kNormal) return token;
  return FromByteAlphabet(token).value_or(token);
}

bool Tokenizer::Has(TokenId id) const {
  return id >= 0 && static_cast<std::size_t>(id) < vocabulary().tokens.size();
}

bool Tokenizer::IsControl(TokenId id) const {
  SHOAL_CHECK(Has(id));
  const TokenType type = vocabulary().types[static_cast<std::size_t>(id)];
  return type == TokenType::kControl || type == TokenType::kUnknown || type == TokenType::kUnused;
}

bool Tokenizer::IsSpecial(TokenId id) const {
  SHOAL_CHECK(Has(id));
  return IsControl(id) ||
         vocabulary().types[static_cast<std::size_t>(id)] == TokenType::kUserDefined;
}

bool Tokenizer::EndsAnswer(TokenId id) const {
  return std::binary_search(parts_->answer_ends.begin(), parts_->answer_ends.end(), id);
}

const Vocabulary& Tokenizer::vocabulary() const { return parts_->vocabulary; }

}  // namespace shoal::llm
