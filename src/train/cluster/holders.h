// Holders: who has which record of the data set on its flash, and how a step's samples are given to
// workers so that few records have to travel. Four bytes per record: the two workers that got it
// last. Pure; not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/node_id.h"
#include "train/cluster/learner.h"

namespace shoal::train {

class Holders {
 public:
  // REQUIRES: records > 0.
  explicit Holders(std::int64_t records);

  // `worker` has these records. Indices that are not of the data set, and workers beyond the
  // 65,535th, are ignored: then the record is sent once more.
  void Note(NodeId worker, std::span<const std::int64_t> indices);
  // It is gone, or has lost what it had.
  void Forget(NodeId worker);
  bool Holds(NodeId worker, std::int64_t index) const;

  // One part per worker, each of exactly its share of units, in the order of `samples`, `unit` of
  // which in a row stay together. Whoever has the first record of a unit gets it as long as there
  // is room in his share; the others go to who has room, neighbours together. REQUIRES: as many
  // shares as workers, no worker twice, together the number of units, and those whole.
  std::vector<std::vector<Sample>> Deal(std::span<const Sample> samples, std::size_t unit,
                                        std::span<const std::int64_t> shares,
                                        std::span<const NodeId> workers) const;

 private:
  using Slot = std::uint16_t;  // A worker; 0 is nobody.

  Slot SlotOf(NodeId worker) const;
  bool InRange(std::int64_t index) const {
    return index >= 0 && static_cast<std::size_t>(index) < records_.size();
  }

  std::vector<std::array<Slot, 2>> records_;  // The latest first.
  std::map<NodeId, Slot> slots_;
  std::vector<Slot> free_;
};

}  // namespace shoal::train
