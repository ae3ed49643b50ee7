// MoveBudget: how often layers of a node may move for the sake of speed. A move costs every answer
// of its pipeline a pause, and a node whose speed changes all the time is not helped by more of
// them. Moves because somebody is gone cannot wait, but they count, and nodes that have moved a lot
// are spared if others will do. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>

#include "base/node_id.h"
#include "base/time.h"

namespace shoal::coordinator {

class MoveBudget {
 public:
  // So many at once, and another after each interval: five in any hour at most.
  static constexpr double kBurst = 3;
  static constexpr Duration kRefill = std::chrono::minutes(30);
  // With those that must be: only if nothing else fits are there more.
  static constexpr std::size_t kHourMax = 5;

  // What a move of the node counts (see MovePrice): the more the fewer are left, and infinitely if
  // none is. `more`: it is to get more layers than it has. The last move is kept for the opposite:
  // a node that turns out to be slow must not have to keep what it was given.
  double Price(NodeId node, bool more, Instant now) const;
  // The same if something must move.
  double PriceOfRepair(NodeId node, bool more, Instant now) const;
  // Its layers move.
  void Spend(NodeId node, Instant now);

 private:
  struct Bucket {
    double left = kBurst;       // Less than nothing: some had to be.
    std::deque<Instant> moves;  // The last ones, the oldest first; kHourMax at most.
  };
  double Left(NodeId node, Instant now) const;
  bool Exhausted(NodeId node, Instant now) const;

  std::map<NodeId, Bucket> buckets_;
};

}  // namespace shoal::coordinator
