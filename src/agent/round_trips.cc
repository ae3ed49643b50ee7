#include "agent/round_trips.h"

#include <algorithm>
#include <vector>

namespace shoal::agent {

void RoundTrips::Add(NodeId peer, Duration trip) {
  const auto [found, is_new] = peers_.try_emplace(peer);
  auto& [trips, usual] = found->second;
  trips.push_back(trip);
  if (trips.size() > kRemembered) trips.pop_front();
  std::vector<Duration> sorted(trips.begin(), trips.end());
  std::sort(sorted.begin(), sorted.end());
  const Duration median = sorted[(sorted.size() - 1) / 2];
  const Duration smaller = std::min(median, usual);
  const Duration larger = std::max(median, usual);
  if (is_new || (larger > 2 * smaller && larger - smaller >= kLittle)) usual = median;
}

std::map<NodeId, Duration> RoundTrips::Usual() const {
  std::map<NodeId, Duration> usual;
  for (const auto& [id, peer] : peers_) usual[id] = peer.usual;
  return usual;
}

}  // namespace shoal::agent
