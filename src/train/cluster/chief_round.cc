#include "train/cluster/chief_round.h"

#include <algorithm>
#include <utility>

namespace shoal::train {
namespace {

// For how long a SYNC may stand still.
constexpr Duration kPatience = std::chrono::seconds(60);

}  // namespace

std::size_t ChiefRound::Samples() const {
  std::size_t count = 0;
  for (const auto& [node, part] : samples) count += part.size();
  return count;
}

void ChiefRound::BeginTry(Instant now) {
  ++tries;
  done.clear();
  waiting.clear();
  heard = now;
}

std::vector<Sample> ChiefRound::Remove(NodeId node, const std::vector<NodeId>& in_step) {
  nodes.erase(node);
  done.erase(node);
  const auto place = std::find(group.begin(), group.end(), node);
  const bool donor = kind == wire::pb::TrainRound::SYNC && place == group.begin();
  if (place != group.end()) group.erase(place);
  if (donor) {
    if (in_step.empty()) {
      nodes.clear();  // Nobody has the weights: from the keeper's on.
    } else {
      group.insert(group.begin(), in_step.front());
    }
  }
  const auto part = samples.extract(node);
  return part ? std::move(part.mapped()) : std::vector<Sample>();
}

std::vector<NodeId> ChiefRound::Dissenters() const {
  std::vector<NodeId> dissenters;
  if (kind != wire::pb::TrainRound::STEP) return dissenters;
  std::map<std::uint64_t, std::size_t> votes;
  for (const auto& [node, said] : done) ++votes[said.fingerprint()];
  const auto right = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  for (const auto& [node, said] : done) {
    if (said.fingerprint() != right->first) dissenters.push_back(node);
  }
  return dissenters;
}

bool ChiefRound::StandsStill(NodeId head, Instant now) const {
  if (now - heard < kPatience) return false;
  return !head_done || std::any_of(group.begin(), group.end(), [&](NodeId node) {
    return node == head || done.contains(node);
  });
}

std::vector<NodeId> ChiefRound::Slow() const {
  std::vector<NodeId> slow;
  for (const NodeId node : nodes) {
    if (!done.contains(node) && !waiting.contains(node)) slow.push_back(node);
  }
  return slow;
}

}  // namespace shoal::train
