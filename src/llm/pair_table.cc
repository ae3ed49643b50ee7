#include <bit>

#include "llm/pair_table_internal.h"

namespace shoal::llm::internal {
namespace {

bool IsText(TokenType type) {
  return type == TokenType::kNormal || type == TokenType::kUserDefined;
}

}  // namespace

PairTable::PairTable(std::span<const Merge> merges, std::span<const TokenType> types)
    : shift_(63 - static_cast<int>(std::bit_width(merges.size()))),
      slots_(std::size_t{1} << (64 - shift_)) {
  const auto is_text = [types](TokenId id) { return IsText(types[static_cast<std::size_t>(id)]); };
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const Merge& merge = merges[rank];
    if (!is_text(merge.left) || !is_text(merge.right) || !is_text(merge.merged)) continue;
    Slot& slot = slots_[Locate(merge.left, merge.right)];
    if (slot.merged != kNoToken) continue;
    slot = {.left = merge.left,
            .right = merge.right,
            .merged = merge.merged,
            .rank = static_cast<std::uint32_t>(rank)};
  }
}

}  // namespace shoal::llm::internal
