// SpecialTokens: finds tokens that are written out in a text ("<|im_end|>") before it is cut.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "llm/vocabulary.h"

namespace shoal::llm::internal {

// Part of a text that its author may use to steer the model: [begin, end).
struct TrustedRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct SpecialMatch {
  std::size_t begin = 0;
  std::size_t end = 0;
  TokenId id = 0;
};

class SpecialTokenFinder {
 public:
  // The tokens to find are the control, unknown and user-defined ones of `vocabulary`.
  explicit SpecialTokenFinder(const Vocabulary& vocabulary);

  // All matches from left to right; at each place the longest token wins. User-defined tokens are
  // found everywhere, the others, and those that look like them, only inside one of `trusted`
  // (in the order of the text, apart).
  std::vector<SpecialMatch> FindAll(std::string_view text,
                                    std::span<const TrustedRange> trusted) const;

 private:
  struct Entry {
    std::string text;
    TokenId id = 0;
    bool everywhere = false;
  };

  // The longest token that `text` has at `at`; the restricted ones end at `trusted_end` at last.
  std::optional<SpecialMatch> FindAt(std::string_view text, std::size_t at,
                                     std::size_t trusted_end) const;

  std::vector<Entry> entries_;               // In the order of their texts.
  std::array<std::size_t, 257> first_byte_;  // Entries that begin with byte b: [b], [b + 1].
};

}  // namespace shoal::llm::internal
