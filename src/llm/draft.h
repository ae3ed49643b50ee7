// Prompt lookup: guesses the next tokens from what followed the same few tokens earlier. Text that
// quotes its prompt (summaries, code, lists) is guessed often, and a guess costs next to nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shoal::llm {

// At most `count` tokens that followed the latest earlier occurrence of the longest repeated ending
// of `history`, of 3 tokens or at least 2; none if there is none.
std::vector<std::int32_t> GuessNext(std::span<const std::int32_t> history, std::size_t count);

}  // namespace shoal::llm
