// PairTable: from two neighbouring tokens to what they merge to. A flat hash table: it is asked
// for every pair of every word of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "llm/merge_symbols_internal.h"
#include "llm/vocabulary.h"

namespace shoal::llm::internal {

class PairTable {
 public:
  // Merges with a token whose type is neither normal nor user-defined are left out: no text may
  // become a control token. Of merges of the same pair, the first counts.
  PairTable(std::span<const Merge> merges, std::span<const TokenType> types);

  // The priority is the merge's place in the list.
  std::optional<MergedPair> Find(TokenId left, TokenId right) const {
    if (left < 0 || right < 0) return std::nullopt;
    const Slot& slot = slots_[Locate(left, right)];
    if (slot.merged == kNoToken) return std::nullopt;
    return MergedPair{.priority = static_cast<double>(slot.rank), .id = slot.merged};
  }

 private:
  struct Slot {
    TokenId left = kNoToken;
    TokenId right = kNoToken;
    TokenId merged = kNoToken;  // kNoToken: free.
    std::uint32_t rank = 0;
  };

  // The slot of the pair, or the free one where it would be.
  std::size_t Locate(TokenId left, TokenId right) const {
    const std::uint64_t key =
        (static_cast<std::uint64_t>(left) << 32U) | static_cast<std::uint32_t>(right);
    std::size_t at = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15U) >> shift_);
    while (slots_[at].merged != kNoToken &&
           (slots_[at].left != left || slots_[at].right != right)) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }

  int shift_ = 0;
  std::vector<Slot> slots_;  // A power of two of them, at most half full.
};

}  // namespace shoal::llm::internal
