// Merging neighbours, the heart of both tokenizers: of all adjacent pairs that may merge, the one
// with the lowest priority merges first, the leftmost among equals, until none is left. A heap
// of candidates and a linked list of symbols make it O(n log n): merging ends the old candidates
// of both symbols, which are recognised when they come up, and makes two new ones at most.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "llm/vocabulary.h"

namespace shoal::llm::internal {

inline constexpr TokenId kNoToken = -1;

// A part of the text that is being cut.
struct Symbol {
  std::size_t begin = 0;
  std::size_t size = 0;   // 0: merged into an earlier one.
  TokenId id = kNoToken;  // kNoToken: no token of its own, perhaps a part of one.
  std::ptrdiff_t previous = -1;
  std::ptrdiff_t next = -1;
};

struct MergedPair {
  double priority = 0;
  TokenId id = kNoToken;
};

struct MergeCandidate {
  MergedPair pair;
  std::size_t left = 0;
  std::size_t right = 0;
  std::size_t size = 0;

  // std::push_heap keeps the greatest in front; ours is the one to merge first.
  friend bool operator<(const MergeCandidate& a, const MergeCandidate& b) {
    if (a.pair.priority != b.pair.priority) return a.pair.priority > b.pair.priority;
    return a.left > b.left;
  }
};

// What merging needs besides the text; kept from word to word to allocate once.
class SymbolList {
 public:
  void Clear() { symbols_.clear(); }

  // The next part of the text.
  void Append(std::size_t begin, std::size_t size, TokenId id) {
    const auto at = static_cast<std::ptrdiff_t>(symbols_.size());
    if (at > 0) symbols_.back().next = at;
    symbols_.push_back({.begin = begin, .size = size, .id = id, .previous = at - 1});
  }

  // Merges all that `find(left, right) -> std::optional<MergedPair>` says.
  template <class Find>
  void Merge(const Find& find) {
    heap_.clear();
    for (std::size_t i = 1; i < symbols_.size(); ++i) Propose(i - 1, i, find);
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      const MergeCandidate candidate = heap_.back();
      heap_.pop_back();
      if (IsStale(candidate)) continue;
      const Symbol& merged = Join(candidate);
      if (merged.previous >= 0) {
        Propose(static_cast<std::size_t>(merged.previous), candidate.left, find);
      }
      if (merged.next >= 0) Propose(candidate.left, static_cast<std::size_t>(merged.next), find);
    }
  }

  // What is left, in the order of the text.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    for (const Symbol& symbol : symbols_) {
      if (symbol.size > 0) visit(symbol);
    }
  }

 private:
  template <class Find>
  void Propose(std::size_t left, std::size_t right, const Find& find) {
    const std::optional<MergedPair> pair = find(symbols_[left], symbols_[right]);
    if (!pair) return;
    heap_.push_back({.pair = *pair,
                     .left = left,
                     .right = right,
                     .size = symbols_[left].size + symbols_[right].size});
    std::push_heap(heap_.begin(), heap_.end());
  }

  // Neither has merged with another since it was proposed: a symbol only grows or vanishes.
  bool IsStale(const MergeCandidate& candidate) const {
    const Symbol& left = symbols_[candidate.left];
    const Symbol& right = symbols_[candidate.right];
    return left.size == 0 || right.size == 0 || left.size + right.size != candidate.size ||
           left.next != static_cast<std::ptrdiff_t>(candidate.right);
  }

  const Symbol& Join(const MergeCandidate& candidate) {
    Symbol& left = symbols_[candidate.left];
    Symbol& right = symbols_[candidate.right];
    left.size = candidate.size;
    left.id = candidate.pair.id;
    left.next = right.next;
    if (right.next >= 0) {
      symbols_[static_cast<std::size_t>(right.next)].previous =
          static_cast<std::ptrdiff_t>(candidate.left);
    }
    right.size = 0;
    return left;
  }

  std::vector<Symbol> symbols_;
  std::vector<MergeCandidate> heap_;
};

}  // namespace shoal::llm::internal
