// Pre-tokenizers: how a text is cut into words before byte pairs are merged inside each word.
// Models name theirs ("qwen2") or give its regular expressions; the expressions in use are few,
// and each is written here as code (word_rules_internal.h): std::regex knows no \p{L}, and a
// general engine would have to run patterns that come with a file.
//
// Thread-safe: everything is constant.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace shoal::llm {

class PreTokenizer;

// kInvalidArgument: we do not have it; the message lists those that we have.
Result<const PreTokenizer*> FindPreTokenizer(std::string_view name);

// The name for the steps of a tokenizer.json: each is a regular expression as written there,
// "digits" for single digits or "gpt2" for the expression built into ByteLevel.
// kInvalidArgument: no pre-tokenizer of ours does the same.
Result<std::string> NamePreTokenizer(std::span<const std::string> steps);

// The names that FindPreTokenizer knows, in alphabetical order.
std::vector<std::string_view> PreTokenizerNames();

// Appends the words of `text` to `words`; one after the other they are `text` again.
// REQUIRES: `text` is valid UTF-8.
void SplitWords(const PreTokenizer& pre_tokenizer, std::string_view text,
                std::vector<std::string_view>& words);

}  // namespace shoal::llm
