// What Tokenizer::Create relies on.
#pragma once

#include "base/status.h"
#include "llm/vocabulary.h"

namespace shoal::llm::internal {

// kInvalidArgument: too large, lists of different lengths, ids beyond the vocabulary, merges that
// do not add up, scores that are no numbers; the message says where.
Status CheckVocabulary(const Vocabulary& vocabulary);

}  // namespace shoal::llm::internal
