// Replacements: how often the link of one peer was replaced by a newer one lately. A phone
// that restarts does it once. Two devices with a copy of one directory do it for ever: each
// dials again when the other has thrown it out.
#pragma once

#include "base/node_id.h"
#include "base/status.h"
#include "base/time.h"

namespace shoal::os {

class Replacements {
 public:
  // Notes one more, and says why the older link of `peer` is down (kCancelled).
  Status Note(NodeId peer, Instant now);
  // The last one was the first that no restart explains.
  bool is_new_conflict() const { return count_ == kCountMax + 1; }

 private:
  static constexpr int kCountMax = 5;  // Within the window.
  static constexpr Duration kWindow = std::chrono::seconds(10);

  Instant begin_{};
  int count_ = 0;
};

}  // namespace shoal::os
