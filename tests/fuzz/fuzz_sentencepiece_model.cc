// Whatever a tokenizer.model holds: a tokenizer that takes any text, or one line that says why not.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/check.h"
#include "llm/sentencepiece_model.h"
#include "llm/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  auto vocabulary = shoal::llm::ReadSentencePieceModel("f", bytes, "");
  if (!vocabulary.ok()) {
    SHOAL_CHECK(vocabulary.status().message().starts_with("f: "));
    return 0;
  }
  const auto tokenizer = shoal::llm::Tokenizer::Create(*std::move(vocabulary));
  if (!tokenizer.ok()) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto ids =
      tokenizer->Encode(text, {.special = shoal::llm::SpecialTokens::kParse, .add_ends = true});
  for (const shoal::llm::TokenId id : ids) SHOAL_CHECK(tokenizer->Has(id));
  return 0;
}
