#include "llm/stop_strings.h"

#include <algorithm>
#include <utility>

namespace shoal::llm {

StopStrings::StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {
  std::erase(strings_, std::string());
}

std::string StopStrings::Feed(std::string_view text) {
  if (stopped_) return {};
  held_ += text;
  std::size_t first = std::string::npos;
  for (const std::string& stop : strings_) first = std::min(first, held_.find(stop));
  if (first != std::string::npos) {
    stopped_ = true;
    held_.resize(first);
    return std::exchange(held_, {});
  }
  // The longest ending that is the beginning of a stop string stays.
  std::size_t keep = 0;
  for (const std::string& stop : strings_) {
    for (std::size_t n = std::min(held_.size(), stop.size() - 1); n > keep; --n) {
      if (held_.ends_with(std::string_view(stop).substr(0, n))) keep = n;
    }
  }
  std::string shown = held_.substr(0, held_.size() - keep);
  held_.erase(0, shown.size());
  return shown;
}

std::string StopStrings::Flush() { return std::exchange(held_, {}); }

}  // namespace shoal::llm
