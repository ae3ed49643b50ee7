// SampleDealer: whose samples are whose. Takes those of a step from the pool and gives them to
// workers that have their records on flash, as far as that goes; takes back what lost workers had;
// and goes back to what the keeper has when all are lost.
//
// Pure; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/node_id.h"
#include "train/cluster/holders.h"
#include "train/cluster/learner.h"
#include "train/cluster/sample_pool.h"
#include "wire/control.h"

namespace shoal::train {

class SampleDealer {
 public:
  using Hands = std::map<NodeId, std::vector<Sample>>;
  struct Step {
    Hands samples;
    Hands next;  // Of the step after it, if nothing changes.
  };

  // `pool`: where the data stand, which is what the keeper has.
  SampleDealer(SamplePool pool, const wire::pb::TrainJob& job);

  // Samples are dealt out in units of so many; shares count units.
  std::int64_t unit() const { return unit_; }
  // The samples of a step, which are out from now on. REQUIRES: as many shares as workers, no
  // worker twice, together the batch.
  Step Deal(std::span<const std::int64_t> shares, std::span<const NodeId> workers);
  // They are trained, or the worker that had them is lost.
  void Commit(std::span<const Sample> samples) { pool_.Commit(samples); }
  void GiveBack(std::span<const Sample> samples) { pool_.GiveBack(samples); }
  // The worker says that it has these records.
  void Note(NodeId worker, std::span<const std::int64_t> records) {
    holders_.Note(worker, records);
  }
  // The worker's records are not there any more.
  void Forget(NodeId worker) { holders_.Forget(worker); }

  // The keeper gets the state that goes with the samples that are trained by now. Those it owes.
  PoolState Keep();
  // Back to what the keeper has.
  void Rollback() { pool_ = kept_; }

 private:
  // Remembers who will have which record.
  Hands Give(std::span<const Sample> samples, std::span<const std::int64_t> shares,
             std::span<const NodeId> workers);

  const std::size_t batch_;
  const std::int64_t unit_;
  SamplePool pool_;
  SamplePool kept_;
  Holders holders_;
};

}  // namespace shoal::train
