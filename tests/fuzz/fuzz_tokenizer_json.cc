// Whatever a tokenizer.json holds: a tokenizer that takes any text, or one line that says why not.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "llm/detokenizer.h"
#include "llm/tokenizer.h"
#include "llm/tokenizer_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using shoal::Code;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // After a zero byte comes tokenizer_config.json.
  const std::size_t cut = bytes.find('\0');
  const std::string_view config =
      cut == std::string_view::npos ? std::string_view() : bytes.substr(cut + 1);
  auto vocabulary = shoal::llm::ReadTokenizerJson("f", bytes.substr(0, cut), config);
  if (!vocabulary.ok()) {
    SHOAL_CHECK(vocabulary.status().code() == Code::kInvalidArgument);
    SHOAL_CHECK(vocabulary.status().message().starts_with("f: "));
    return 0;
  }
  const auto tokenizer = shoal::llm::Tokenizer::Create(*std::move(vocabulary));
  if (!tokenizer.ok()) {
    SHOAL_CHECK(tokenizer.status().code() == Code::kInvalidArgument);
    return 0;
  }
  for (const auto special :
       {shoal::llm::SpecialTokens::kAsText, shoal::llm::SpecialTokens::kParse}) {
    const auto ids = tokenizer->Encode(bytes, {.special = special, .add_ends = true});
    for (const shoal::llm::TokenId id : ids) SHOAL_CHECK(tokenizer->Has(id));
    (void)shoal::llm::Decode(*tokenizer, ids, {.show_control = true});
  }
  return 0;
}
