#include "coordinator/move_budget.h"

#include <algorithm>

#include "base/check.h"

namespace shoal::coordinator {

double MoveBudget::Left(NodeId node, Instant now) const {
  const auto found = buckets_.find(node);
  if (found == buckets_.end()) return kBurst;
  const double refilled = ToSeconds(now - found->second.at) / ToSeconds(kRefill);
  return std::min(kBurst, found->second.left + refilled);
}

void MoveBudget::Spend(NodeId node, Instant now) {
  const double left = Left(node, now);
  SHOAL_CHECK_GE(left, 1.0);
  buckets_[node] = {.left = left - 1, .at = now};
}

}  // namespace shoal::coordinator
