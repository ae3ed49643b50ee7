// The vocabulary of a GGUF file: its keys tokenizer.*.
#pragma once

#include "base/status.h"
#include "llm/gguf_metadata.h"
#include "llm/vocabulary.h"

namespace shoal::llm {

// kInvalidArgument: a kind of tokenizer that we do not have (WordPiece, Unigram), named in the
// message, or a vocabulary that contradicts itself. kNotFound, kCorruption: as `metadata` says
// of a missing or wrong value.
Result<Vocabulary> ReadGgufVocabulary(const GgufMetadata& metadata);

}  // namespace shoal::llm
