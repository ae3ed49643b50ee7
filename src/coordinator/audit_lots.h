// AuditLots: which pieces of a node's work are computed again. Of every 1/share pieces of each node
// one is, and which one is drawn: as likely for each piece as drawing for every piece by itself,
// but no node is passed over for long by luck. (Of simulated clusters with a node that spoils one
// row in a hundred, drawing by itself missed 2 of 40 within 2,000 tokens; this misses 3 of 200.)
#pragma once

#include <cstdint>
#include <map>

#include "base/node_id.h"
#include "base/random.h"

namespace shoal::coordinator {

class AuditLots {
 public:
  // `random` outlives it. share: from 0 to 1.
  AuditLots(double share, Random& random) : share_(share), random_(random) {}

  // Whether the next piece of `node`'s work is one of them.
  bool Draw(NodeId node);

 private:
  // Pieces of a node lie on a line, `share` apart; in each unit of it one point is drawn.
  struct Line {
    double length = 0;
    std::uint64_t unit = 0;
    double point = 0;
  };

  const double share_;
  Random& random_;
  std::map<NodeId, Line> lines_;
};

}  // namespace shoal::coordinator
