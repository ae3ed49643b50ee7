// GroupPlanner: how the group of a round adds up, from what is known of its links. A plan holds as
// long as the group and the links do; a new one is news.
//
// Belongs to one event loop.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/node_id.h"
#include "train/cluster/chief_round.h"
#include "train/cluster/crew.h"
#include "train/cluster/link_table.h"
#include "train/cluster/reduce_plan.h"
#include "wire/control.h"

namespace shoal::train {

class GroupPlanner {
 public:
  // `links` and `crew` outlive it. `news`: lines for the operator.
  GroupPlanner(const LinkTable& links, const Crew& crew, ReduceWish wish,
               std::function<void(const std::string&)> news);

  // What the nodes of `round` are told of its group. That of a STEP is put in the plan's order.
  void Write(std::uint64_t epoch, ChiefRound& round, wire::pb::TrainGroup& out);
  // The links have changed.
  void Forget() { plan_.reset(); }

 private:
  const ReducePlan& PlanOf(std::vector<NodeId> members);

  const LinkTable& links_;
  const Crew& crew_;
  const ReduceWish wish_;
  const std::function<void(const std::string&)> news_;
  std::optional<ReducePlan> plan_;  // Of the last STEP's members.
  std::string line_;
};

}  // namespace shoal::train
