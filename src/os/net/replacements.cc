#include <string>

#include "os/net/replacements_internal.h"

namespace shoal::os {

Status Replacements::Note(NodeId peer, Instant now) {
  if (now - begin_ > kWindow) {
    begin_ = now;
    count_ = 0;
  }
  std::string why = "replaced by a newer link of the same node";
  if (++count_ > kCountMax) {
    why += ", again and again: two devices use the identity of node " +
           std::to_string(ToNumber(peer)) + "; on one of them, delete its directory and join anew";
  }
  return {Code::kCancelled, why};
}

}  // namespace shoal::os
