// MoveBudget: how often layers of a node may move for the sake of speed. A move costs every answer
// of its pipeline a pause, and a node whose speed changes all the time is not helped by more of
// them. Moves because somebody is gone are not asked for here. Pure.
#pragma once

#include <chrono>
#include <map>

#include "base/node_id.h"
#include "base/time.h"

namespace shoal::coordinator {

class MoveBudget {
 public:
  // So many at once, and another after each interval: five in any hour at most.
  static constexpr double kBurst = 3;
  static constexpr Duration kRefill = std::chrono::minutes(30);

  // `more`: it is to get more layers than it has. The last move is kept for the opposite: a node
  // that turns out to be slow must not have to keep what it was given.
  bool Allows(NodeId node, bool more, Instant now) const {
    return Left(node, now) >= (more ? 2 : 1);
  }
  // REQUIRES: Allows(node, false, now).
  void Spend(NodeId node, Instant now);

 private:
  double Left(NodeId node, Instant now) const;

  struct Bucket {
    double left = kBurst;
    Instant at;
  };
  std::map<NodeId, Bucket> buckets_;
};

}  // namespace shoal::coordinator
