#include "coordinator/roster.h"

#include <utility>

#include "kernels/revision.h"

namespace shoal::coordinator {

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

std::vector<PlaceNode> Roster::Candidates(Instant now) const {
  std::vector<PlaceNode> nodes;
  for (const auto& [id, member] : members_) {
    if (!member.greeted || member.draining ||
        member.hello.arithmetic() != kernels::kKernelRevision) {
      continue;
    }
    const auto avoided = avoid_.find(id);
    const double speed = member.hello.profile().weight_bytes_per_second();
    nodes.push_back({.id = id,
                     .memory_bytes = member.hello.memory_bytes(),
                     .speed = speed > 0 ? speed : 1,
                     .avoid = avoided != avoid_.end() && now < avoided->second});
  }
  return nodes;
}

}  // namespace shoal::coordinator
