// NameIndex: where in a list the thing of a name is. Sorted, not hashed: a file chooses the names,
// and cannot choose them so that looking them up takes long.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::llm {

// Refers to the names' characters. Thread-safe: nothing changes after it is made.
class NameIndex {
 public:
  NameIndex() = default;
  explicit NameIndex(const std::vector<std::string_view>& names) {
    for (std::size_t i = 0; i < names.size(); ++i) sorted_.emplace_back(names[i], i);
    std::sort(sorted_.begin(), sorted_.end());
  }

  // A name that is there twice, if one is.
  std::optional<std::string_view> Duplicate() const {
    const auto twice =
        std::adjacent_find(sorted_.begin(), sorted_.end(),
                           [](const Entry& a, const Entry& b) { return a.first == b.first; });
    if (twice == sorted_.end()) return std::nullopt;
    return twice->first;
  }

  std::optional<std::size_t> Find(std::string_view name) const {
    const auto found = std::lower_bound(
        sorted_.begin(), sorted_.end(), name,
        [](const Entry& entry, std::string_view wanted) { return entry.first < wanted; });
    if (found == sorted_.end() || found->first != name) return std::nullopt;
    return found->second;
  }

 private:
  using Entry = std::pair<std::string_view, std::size_t>;

  std::vector<Entry> sorted_;
};

}  // namespace shoal::llm
