#include "train/cluster/neighbours.h"

#include <utility>

namespace shoal::train {
namespace {

// A neighbour that cannot be reached is tried again, for so long.
constexpr Duration kDialAgain = std::chrono::milliseconds(200);
constexpr Duration kDialMax = std::chrono::seconds(2);

}  // namespace

void Neighbours::Dial(std::uint64_t epoch, std::set<NodeId> peers,
                      std::map<NodeId, std::string> addresses) {
  epoch_ = epoch;
  peers_ = std::move(peers);
  addresses_ = std::move(addresses);
  dialled_ = clock_.Now();
  for (const NodeId peer : peers_) {
    if (!up_.contains(peer)) network_.Connect(peer, addresses_[peer]);
  }
}

void Neighbours::Clear() {
  epoch_ = 0;
  peers_.clear();
}

bool Neighbours::OnPeerDown(NodeId peer) {
  const bool was_up = up_.erase(peer) > 0;
  if (!peers_.contains(peer)) return false;
  // What was on its way is lost; a link that never was can still come.
  if (was_up || clock_.Now() - dialled_ > kDialMax) return true;
  clock_.CallAfter(kDialAgain, [this, alive = std::weak_ptr<int>(alive_), peer, epoch = epoch_] {
    if (alive.expired() || epoch_ != epoch || up_.contains(peer)) return;
    network_.Connect(peer, addresses_[peer]);
  });
  return false;
}

}  // namespace shoal::train
