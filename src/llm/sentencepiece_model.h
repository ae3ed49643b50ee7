// The vocabulary of a tokenizer.model, SentencePiece's own file: a protobuf message of pieces.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/status.h"
#include "llm/vocabulary.h"

namespace shoal::llm {

// Published ones have 0.5 to 4 MB.
inline constexpr std::size_t kMaxSentencePieceBytes = std::size_t{64} << 20U;

// `config` is the text of tokenizer_config.json; empty: there is none. `file` is a name for
// messages. kInvalidArgument: not such a file, or of another kind than byte pairs (T5's are).
Result<Vocabulary> ReadSentencePieceModel(std::string_view file, std::span<const std::byte> bytes,
                                          std::string_view config);

}  // namespace shoal::llm
