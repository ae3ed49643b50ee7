// StopStrings: ends a text before the first of some strings, wherever it is cut into pieces. What
// may be the beginning of one is held back until it is clear.
//
// Belongs to one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shoal::llm {

class StopStrings {
 public:
  // Empty strings are ignored.
  explicit StopStrings(std::vector<std::string> strings);

  // The text that can be shown now. Nothing after stopped().
  std::string Feed(std::string_view text);
  // At the end: what was held back.
  std::string Flush();
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> strings_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace shoal::llm
