// LinkSurvey: in which order the links of some nodes are measured: as many pairs at once as there
// are nodes for, no node in two. Of few nodes all pairs that were not tried before; of many, each
// with those next to it by number, so that nobody has to hold links to hundreds.
//
// Pure; belongs to one event loop.
#pragma once

#include <cstddef>
#include <list>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/node_id.h"
#include "train/cluster/link_table.h"

namespace shoal::train {

class LinkSurvey {
 public:
  using Pair = std::pair<NodeId, NodeId>;

  // REQUIRES: nodes in order.
  LinkSurvey(std::span<const NodeId> nodes, const LinkTable& known);

  // Pairs whose turn it is now; nobody in them gets another before Done or Leave.
  std::vector<Pair> TakeFree();
  void Done(const Pair& pair);
  // The node is gone, and so are its pairs.
  void Leave(NodeId node);
  bool over() const { return left_.empty() && busy_.empty(); }
  // Those that were not begun or are not done.
  std::vector<Pair> Rest() const;

 private:
  bool IsBusy(NodeId node) const;

  std::list<Pair> left_;
  std::set<Pair> busy_;
};

}  // namespace shoal::train
