#include "agent/news.h"

namespace shoal::agent {

void News::Say(const std::string& line) {
  if (!say_) return;
  const Instant now = clock_.Now();
  if (now - begin_ >= kWindow) {
    begin_ = now;
    said_.clear();
  }
  if (said_.size() >= kLinesMax && !said_.contains(line)) return;
  if (++said_[line] <= kRepeatsMax) say_(line);
}

}  // namespace shoal::agent
