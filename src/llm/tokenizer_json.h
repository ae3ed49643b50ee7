// The vocabulary of a Hugging Face model: tokenizer.json, and what only tokenizer_config.json
// knows (chat template, which tokens begin and end a sequence).
#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.h"
#include "llm/vocabulary.h"

namespace shoal::llm {

// The largest published file (Gemma 3) has 33 MB.
inline constexpr std::size_t kMaxTokenizerJsonBytes = std::size_t{128} << 20;

// `tokenizer` and `config` are the texts of the two files; an empty `config` means there is none.
// `file` is a name for messages. kInvalidArgument: not such a file, or a tokenizer of a kind we
// do not have; the message names what is not supported.
Result<Vocabulary> ReadTokenizerJson(std::string_view file, std::string_view tokenizer,
                                     std::string_view config);

// Adds what `config`, the text of tokenizer_config.json, says; nothing if it is empty.
// kInvalidArgument: it is no JSON, or tokens are there twice.
Status ApplyTokenizerConfig(std::string_view config, Vocabulary& vocabulary);

}  // namespace shoal::llm
