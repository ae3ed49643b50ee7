#include "train/cluster/holders.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace shoal::train {
namespace {

constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

// Gives the units of one step away.
class Dealing {
 public:
  Dealing(std::size_t units, std::span<const std::int64_t> shares)
      : room_(shares.begin(), shares.end()), owner_(units, kNobody) {}

  // To whichever of `workers` has the most room, if any.
  void Offer(std::size_t unit, std::span<const std::size_t> workers) {
    std::size_t best = kNobody;
    for (const std::size_t worker : workers) {
      if (room_[worker] > 0 && (best == kNobody || room_[worker] > room_[best])) best = worker;
    }
    if (best == kNobody) return;
    owner_[unit] = best;
    --room_[best];
  }

  std::vector<std::vector<Sample>> Finish(std::span<const Sample> samples) {
    std::vector<std::vector<Sample>> parts(room_.size());
    const std::size_t unit = owner_.empty() ? 0 : samples.size() / owner_.size();
    std::size_t next = 0;
    for (std::size_t i = 0; i < owner_.size(); ++i) {
      if (owner_[i] == kNobody) {
        while (room_[next] == 0) ++next;
        owner_[i] = next;
        --room_[next];
      }
      const std::span<const Sample> whole = samples.subspan(i * unit, unit);
      parts[owner_[i]].insert(parts[owner_[i]].end(), whole.begin(), whole.end());
    }
    return parts;
  }

 private:
  std::vector<std::int64_t> room_;  // Of each worker.
  std::vector<std::size_t> owner_;  // Of each unit.
};

}  // namespace

Holders::Holders(std::int64_t records) : records_(static_cast<std::size_t>(records)) {
  SHOAL_CHECK_GT(records, 0);
}

Holders::Slot Holders::SlotOf(NodeId worker) const {
  const auto found = slots_.find(worker);
  return found == slots_.end() ? Slot{0} : found->second;
}

void Holders::Note(NodeId worker, std::span<const std::int64_t> indices) {
  Slot slot = SlotOf(worker);
  if (slot == 0) {
    if (free_.empty() && slots_.size() == std::numeric_limits<Slot>::max()) return;
    slot = free_.empty() ? static_cast<Slot>(slots_.size() + 1) : free_.back();
    if (!free_.empty()) free_.pop_back();
    slots_[worker] = slot;
  }
  for (const std::int64_t index : indices) {
    if (!InRange(index)) continue;
    auto& [latest, other] = records_[static_cast<std::size_t>(index)];
    if (latest == slot || other == slot) continue;
    other = latest;
    latest = slot;
  }
}

void Holders::Forget(NodeId worker) {
  const Slot slot = SlotOf(worker);
  if (slot == 0) return;
  for (auto& [latest, other] : records_) {
    if (other == slot) other = 0;
    if (latest == slot) latest = std::exchange(other, Slot{0});
  }
  slots_.erase(worker);
  free_.push_back(slot);
}

bool Holders::Holds(NodeId worker, std::int64_t index) const {
  const Slot slot = SlotOf(worker);
  if (slot == 0 || !InRange(index)) return false;
  const auto& [latest, other] = records_[static_cast<std::size_t>(index)];
  return latest == slot || other == slot;
}

std::vector<std::vector<Sample>> Holders::Deal(std::span<const Sample> samples, std::size_t unit,
                                               std::span<const std::int64_t> shares,
                                               std::span<const NodeId> workers) const {
  SHOAL_CHECK_EQ(shares.size(), workers.size());
  SHOAL_CHECK_EQ(samples.size() % unit, 0U);
  const std::size_t units = samples.size() / unit;
  SHOAL_CHECK_EQ(std::accumulate(shares.begin(), shares.end(), std::int64_t{0}),
                 static_cast<std::int64_t>(units));
  std::map<Slot, std::size_t> present;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (const Slot slot = SlotOf(workers[i]); slot != 0) present[slot] = i;
  }
  Dealing dealing(units, shares);
  // First those that only one worker has: the others have a choice.
  for (const std::size_t holders : {1U, 2U}) {
    for (std::size_t i = 0; i < units; ++i) {
      const std::int64_t index = samples[i * unit].index;
      if (!InRange(index)) continue;
      std::vector<std::size_t> having;
      for (const Slot slot : records_[static_cast<std::size_t>(index)]) {
        if (const auto found = present.find(slot); found != present.end()) {
          having.push_back(found->second);
        }
      }
      if (having.size() == holders) dealing.Offer(i, having);
    }
  }
  return dealing.Finish(samples);
}

}  // namespace shoal::train
