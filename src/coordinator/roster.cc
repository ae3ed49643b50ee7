#include "coordinator/roster.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "kernels/revision.h"

namespace shoal::coordinator {
namespace {

// Nodes say these themselves. Far above any device; what is made of more is no number in the end.
constexpr double kSpeedMax = 1e15;
constexpr double kRoundTripMax = 60'000;
// Seconds, one way, of a link that is not known yet. Less is not believed either: what differs
// below is the schedulers' doing, and moves no layers.
constexpr double kLatencyMin = 0.5e-3;

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

const Member* Roster::Find(NodeId node) const {
  const auto found = members_.find(node);
  return found == members_.end() ? nullptr : &found->second;
}

bool Roster::IsAvoided(NodeId node, Instant now) const {
  const auto found = avoid_.find(node);
  return found != avoid_.end() && now < found->second;
}

void Roster::Measured(NodeId node, double slowness, Instant now) {
  if (speeds_[node].Measured(slowness, now)) ++beliefs_;
}

std::optional<double> Roster::Slowness(NodeId node, Instant now) const {
  const auto found = speeds_.find(node);
  return found == speeds_.end() ? std::nullopt : found->second.Slowness(now);
}

double Roster::UsualSlowness(Instant now) const {
  std::vector<double> known;
  for (const auto& [id, member] : members_) {
    if (const std::optional<double> slowness = Slowness(id, now)) known.push_back(*slowness);
  }
  if (known.empty()) return 1;
  const auto middle = known.begin() + static_cast<std::ptrdiff_t>((known.size() - 1) / 2);
  std::nth_element(known.begin(), middle, known.end());
  return *middle;
}

pipeline::PlanCluster Roster::Candidates(Instant now, const std::set<NodeId>& taken) const {
  pipeline::PlanCluster cluster;
  const double usual = UsualSlowness(now);
  for (const auto& [id, member] : members_) {
    if (taken.contains(id) || !member.greeted || member.draining || member.resting ||
        member.quarantined || member.hello.arithmetic() != kernels::kKernelRevision) {
      continue;
    }
    const wire::pb::Profile& profile = member.hello.profile();
    pipeline::PlanNode node;
    node.id = id;
    node.memory_bytes = member.hello.memory_bytes();
    const double slowness = Slowness(id, now).value_or(usual);
    node.speeds.weight_bytes_per_second = Known(profile.weight_bytes_per_second()) / slowness;
    node.speeds.operations_per_second = Known(profile.operations_per_second()) / slowness;
    node.avoid = IsAvoided(id, now);
    node.trusted = member.trusted;
    node.latency = kLatencyMin;
    for (const wire::pb::RoundTrip& trip : member.telemetry.round_trips()) {
      if (!(trip.milliseconds() >= 0 && trip.milliseconds() <= kRoundTripMax)) continue;
      const double one_way = std::max(trip.milliseconds() / 2000, kLatencyMin);
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
