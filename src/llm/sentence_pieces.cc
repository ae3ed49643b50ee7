#include <algorithm>
#include <charconv>

#include "llm/sentence_pieces_internal.h"
#include "llm/utf8.h"

namespace shoal::llm::internal {
namespace {

constexpr std::string_view kSpaceMark = "▁";  // U+2581

}  // namespace

std::string EscapeSpaces(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == ' ') {
      out += kSpaceMark;
    } else {
      out += c;
    }
  }
  return out;
}

std::string UnescapeSpaces(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const bool space = text.starts_with(kSpaceMark);
    out += space ? ' ' : text[0];
    text.remove_prefix(space ? kSpaceMark.size() : 1);
  }
  return out;
}

SentencePieces::SentencePieces(const Vocabulary& vocabulary, const TokenIndex& index)
    : vocabulary_(&vocabulary),
      index_(&index),
      byte_ids_{},
      pairs_(vocabulary.merges, vocabulary.types) {
  byte_ids_.fill(kNoToken);
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string& token = vocabulary.tokens[id];
    longest_token_ = std::max(longest_token_, token.size());
    if (vocabulary.types[id] != TokenType::kByte) continue;
    if (const std::optional<char> byte = ByteOf(token)) {
      byte_ids_[static_cast<unsigned char>(*byte)] = static_cast<TokenId>(id);
    }
  }
}

std::optional<char> SentencePieces::ByteOf(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return std::nullopt;
  unsigned value = 0;
  const char* digits = token.data() + 3;
  const auto [end, error] = std::from_chars(digits, digits + 2, value, 16);
  if (error != std::errc() || end != digits + 2) return std::nullopt;
  return static_cast<char>(value);
}

// The token with this text that may be made from text: "<s>" in a text is no control token and
// "<0x0A>" no newline.
TokenId SentencePieces::FindText(std::string_view piece) const {
  if (piece.size() > longest_token_) return kNoToken;
  const std::optional<TokenId> id = index_->Find(piece);
  if (!id) return kNoToken;
  const TokenType type = vocabulary_->types[static_cast<std::size_t>(*id)];
  return type == TokenType::kNormal || type == TokenType::kUserDefined ? *id : kNoToken;
}

std::optional<MergedPair> SentencePieces::FindScored(std::string_view both) const {
  const TokenId id = FindText(both);
  if (id == kNoToken) return std::nullopt;
  return MergedPair{.priority = -vocabulary_->scores[static_cast<std::size_t>(id)], .id = id};
}

void SentencePieces::AppendCharacters(std::string_view text, SymbolList& symbols) const {
  const bool by_merges = vocabulary_->scores.empty();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = DecodeCharacter(text.substr(at)).size;
    const TokenId id = FindText(text.substr(at, size));
    // Whoever merges by list merges tokens, and the bytes of an unknown character are such.
    if (id == kNoToken && by_merges) {
      for (std::size_t i = 0; i < size; ++i) symbols.Append(at + i, 1, kNoToken);
    } else {
      symbols.Append(at, size, id);
    }
    at += size;
  }
}

void SentencePieces::Encode(std::string_view text, std::vector<TokenId>& out) const {
  const std::string escaped = EscapeSpaces(text);
  const std::string_view view = escaped;
  SymbolList symbols;
  AppendCharacters(view, symbols);
  if (vocabulary_->scores.empty()) {
    symbols.Merge(
        [this](const Symbol& left, const Symbol& right) { return pairs_.Find(left.id, right.id); });
  } else {
    symbols.Merge([this, view](const Symbol& left, const Symbol& right) {
      return FindScored(view.substr(left.begin, left.size + right.size));
    });
  }
  symbols.ForEach([&](const Symbol& symbol) {
    if (symbol.id != kNoToken) {
      out.push_back(symbol.id);
    } else {
      EmitBytes(view.substr(symbol.begin, symbol.size), out);
    }
  });
}

void SentencePieces::EmitBytes(std::string_view bytes, std::vector<TokenId>& out) const {
  for (const char byte : bytes) {
    const TokenId id = byte_ids_[static_cast<unsigned char>(byte)];
    if (id == kNoToken) {
      if (vocabulary_->unknown) out.push_back(*vocabulary_->unknown);
      return;
    }
    out.push_back(id);
  }
}

}  // namespace shoal::llm::internal
