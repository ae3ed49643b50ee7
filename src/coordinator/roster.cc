#include "coordinator/roster.h"

#include <utility>

#include "kernels/revision.h"

namespace shoal::coordinator {
namespace {

// Nodes say these themselves. Far above any device; what is made of more is no number in the end.
constexpr double kSpeedMax = 1e15;
constexpr double kRoundTripMax = 60'000;

// What has not been measured is slow.
double Known(double speed) { return speed > 0 && speed <= kSpeedMax ? speed : 1; }

}  // namespace

void Roster::Arrived(NodeId node, Instant now) {
  Member member;
  member.heard = now;
  members_[node] = std::move(member);
}

void Roster::Left(NodeId node) {
  members_.erase(node);
  std::erase_if(unreachable_,
                [&](const auto& pair) { return pair.first == node || pair.second == node; });
}

Member* Roster::Find(NodeId node) {
  const auto found = members_.find(node);
  return found == members_.end() ? nullptr : &found->second;
}

bool Roster::IsAvoided(NodeId node, Instant now) const {
  const auto found = avoid_.find(node);
  return found != avoid_.end() && now < found->second;
}

pipeline::PlanCluster Roster::Candidates(Instant now, const std::set<NodeId>& taken) const {
  pipeline::PlanCluster cluster;
  for (const auto& [id, member] : members_) {
    if (taken.contains(id) || !member.greeted || member.draining ||
        member.hello.arithmetic() != kernels::kKernelRevision) {
      continue;
    }
    const wire::pb::Profile& profile = member.hello.profile();
    pipeline::PlanNode node;
    node.id = id;
    node.memory_bytes = member.hello.memory_bytes();
    node.speeds.weight_bytes_per_second = Known(profile.weight_bytes_per_second());
    node.speeds.operations_per_second = Known(profile.operations_per_second());
    node.avoid = IsAvoided(id, now);
    for (const wire::pb::RoundTrip& trip : member.telemetry.round_trips()) {
      if (!(trip.milliseconds() >= 0 && trip.milliseconds() <= kRoundTripMax)) continue;
      const double one_way = trip.milliseconds() / 2000;
      const NodeId peer{trip.node()};
      if (peer == kHeadNode) {
        node.latency = one_way;
      } else if (Reachable(id, peer) && Reachable(peer, id)) {
        cluster.links.push_back({id, peer, one_way});
      }
    }
    cluster.nodes.push_back(node);
  }
  return cluster;
}

}  // namespace shoal::coordinator
