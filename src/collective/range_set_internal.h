// RangeSet: which elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include "collective/pieces_internal.h"

namespace shoal::collective {

class RangeSet {
 public:
  void Add(Range range) {
    if (range.size() == 0) return;
    auto next = ends_.upper_bound(range.begin);
    if (next != ends_.begin() && std::prev(next)->second >= range.begin) {
      range.begin = std::prev(next)->first;
      range.end = std::max(range.end, std::prev(next)->second);
    }
    while (next != ends_.end() && next->first <= range.end) {
      range.end = std::max(range.end, next->second);
      next = ends_.erase(next);
    }
    ends_[range.begin] = range.end;
  }

  // What of `range` is not in it, in order.
  std::vector<Range> Gaps(Range range) const {
    std::vector<Range> gaps;
    auto next = ends_.upper_bound(range.begin);
    if (next != ends_.begin()) {
      range.begin = std::max(range.begin, std::min(range.end, std::prev(next)->second));
    }
    for (; range.size() > 0; ++next) {
      const bool none_left = next == ends_.end() || next->first >= range.end;
      gaps.push_back({range.begin, none_left ? range.end : next->first});
      if (none_left) break;
      range.begin = std::min(range.end, next->second);
    }
    return gaps;
  }

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  // By begin; disjoint, and not next to each other.
};

}  // namespace shoal::collective
