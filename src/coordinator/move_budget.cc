#include "coordinator/move_budget.h"

#include <algorithm>
#include <limits>

namespace shoal::coordinator {
namespace {

// Shares of what a route costs: of a node that has not moved lately, that has, and that may only
// once more.
constexpr double kPrice = 0.003;
constexpr double kUsedPrice = 0.01;
constexpr double kLastPrice = 0.03;
// A pipeline may rather be a good deal slower for a while than have a node that never rests.
constexpr double kPriceOfNecessity = 0.5;
constexpr double kPriceOfExhaustion = 10;
// So many more than there were to spend are remembered.
constexpr double kDebtMax = -2;

}  // namespace

double MoveBudget::Left(NodeId node, Instant now) const {
  const auto found = buckets_.find(node);
  if (found == buckets_.end()) return kBurst;
  const double refilled = ToSeconds(now - found->second.moves.back()) / ToSeconds(kRefill);
  return std::min(kBurst, found->second.left + refilled);
}

bool MoveBudget::Exhausted(NodeId node, Instant now) const {
  const auto found = buckets_.find(node);
  return found != buckets_.end() && found->second.moves.size() == kHourMax &&
         now - found->second.moves.front() <= std::chrono::hours(1);
}

double MoveBudget::Price(NodeId node, bool more, Instant now) const {
  const double left = Left(node, now);
  if (left < (more ? 2 : 1) || Exhausted(node, now)) return std::numeric_limits<double>::infinity();
  if (left < 2) return kLastPrice;
  return left < kBurst ? kUsedPrice : kPrice;
}

double MoveBudget::PriceOfRepair(NodeId node, bool more, Instant now) const {
  if (Exhausted(node, now)) return kPriceOfExhaustion;
  return std::min(Price(node, more, now), kPriceOfNecessity);
}

void MoveBudget::Spend(NodeId node, Instant now) {
  const double left = Left(node, now);
  Bucket& bucket = buckets_[node];
  bucket.left = std::max(left - 1, kDebtMax);
  bucket.moves.push_back(now);
  if (bucket.moves.size() > kHourMax) bucket.moves.pop_front();
}

}  // namespace shoal::coordinator
