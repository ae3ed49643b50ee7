#include "llm/detokenizer.h"

#include <utility>

#include "llm/utf8.h"

namespace shoal::llm {

Detokenizer::Detokenizer(Tokenizer tokenizer, const DetokenizerOptions& options)
    : tokenizer_(std::move(tokenizer)),
      options_(options),
      drop_space_(tokenizer_.vocabulary().add_space_prefix && !options.continues) {}

std::string Detokenizer::Feed(TokenId id) {
  if (!tokenizer_.Has(id)) return {};
  if (!tokenizer_.IsControl(id) || options_.show_control) {
    std::string bytes = tokenizer_.TokenBytes(id);
    if (drop_space_ && !tokenizer_.IsSpecial(id) && bytes.starts_with(' ')) bytes.erase(0, 1);
    pending_ += bytes;
    drop_space_ = false;
  }
  // Encode puts a space in front of what follows a special token, too.
  if (tokenizer_.IsSpecial(id)) drop_space_ = tokenizer_.vocabulary().add_space_prefix;
  const std::size_t whole = pending_.size() - UnfinishedBytes(pending_);
  std::string text = ReplaceInvalidUtf8(std::string_view(pending_).substr(0, whole));
  pending_.erase(0, whole);
  return text;
}

std::string Detokenizer::Flush() {
  drop_space_ = tokenizer_.vocabulary().add_space_prefix && !options_.continues;
  return ReplaceInvalidUtf8(std::exchange(pending_, {}));
}

std::string Decode(const Tokenizer& tokenizer, std::span<const TokenId> ids,
                   const DetokenizerOptions& options) {
  Detokenizer detokenizer(tokenizer, options);
  std::string text;
  for (const TokenId id : ids) text += detokenizer.Feed(id);
  return text + detokenizer.Flush();
}

}  // namespace shoal::llm
