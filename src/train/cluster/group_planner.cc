#include "train/cluster/group_planner.h"

#include <algorithm>
#include <utility>

namespace shoal::train {

GroupPlanner::GroupPlanner(const LinkTable& links, const Crew& crew, ReduceWish wish,
                           std::function<void(const std::string&)> news)
    : links_(links), crew_(crew), wish_(wish), news_(std::move(news)) {}

void GroupPlanner::Write(std::uint64_t epoch, ChiefRound& round, wire::pb::TrainGroup& out) {
  out.set_epoch(epoch);
  out.set_algorithm(
      static_cast<std::uint32_t>(wish_.algorithm.value_or(collective::Algorithm::kRing)));
  out.set_piece_elements(wish_.pieces.elements);
  out.set_pieces_ahead(wish_.pieces.ahead);
  // Statistics are of very different sizes: one power of two for all would lose the small ones.
  const bool step = round.kind == wire::pb::TrainRound::STEP;
  out.set_wire(static_cast<std::uint32_t>(step ? wish_.wire : collective::WireType::kF32));
  if (step) {
    const ReducePlan& plan = PlanOf(round.group);
    round.group = plan.members;
    for (const auto& ranks : plan.switches) {
      out.add_switches()->mutable_ranks()->Add(ranks.begin(), ranks.end());
    }
    for (const ReduceWay& way : plan.ways) WriteWay(way, out);
  }
  for (const NodeId node : round.group) {
    wire::pb::TrainMember& member = *out.add_members();
    member.set_node(ToNumber(node));
    if (const Mate* mate = crew_.Find(node)) member.set_address(mate->address);
  }
}

const ReducePlan& GroupPlanner::PlanOf(std::vector<NodeId> members) {
  std::sort(members.begin(), members.end());
  std::vector<NodeId> planned = plan_ ? plan_->members : std::vector<NodeId>();
  std::sort(planned.begin(), planned.end());
  if (plan_ && planned == members) return *plan_;
  plan_ = PlanReduction(links_, members, crew_.buckets(), wish_);
  std::string line =
      DescribePlan(*plan_, crew_.buckets(), [this](NodeId node) { return crew_.NameOf(node); });
  if (wish_.measure_links && members.size() > 1 && line != line_) news_(line);
  line_ = std::move(line);
  return *plan_;
}

}  // namespace shoal::train
