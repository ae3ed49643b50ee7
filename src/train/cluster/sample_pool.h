// SamplePool: which samples a step takes, so that every sample of every epoch is trained exactly
// once although workers are lost: what they had goes back into the pool and is taken first.
//
// CommitLedger: the proof of that, kept by whoever does not trust the pool: tests, and a head that
// tells how it went.
//
// Pure; not thread-safe. A sample's number is epoch × size + position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "data/sample_order.h"
#include "train/cluster/learner.h"
#include "train/cluster/run_set.h"

namespace shoal::train {

// What a snapshot needs to go on with exactly the samples that have not been trained.
struct PoolState {
  data::Cursor next{};            // Nothing from here on was ever taken.
  std::vector<SampleRun> owed{};  // What before it is not committed, in order.
  bool operator==(const PoolState&) const = default;
};

class SamplePool {
 public:
  // The order is data::SampleOrder's. REQUIRES: size > 0; start.position < size.
  SamplePool(std::int64_t size, bool shuffle, std::uint64_t seed, data::Cursor start);
  // kCorruption: no pool of that size is ever in such a state.
  static Result<SamplePool> Restore(std::int64_t size, bool shuffle, std::uint64_t seed,
                                    const PoolState& state);

  // What was given back, the first in the order first, and then what comes next.
  std::vector<Sample> Take(std::size_t count);
  // Of workers that were lost before their step was committed. Those that are not out (committed,
  // or given back already) are left alone.
  void GiveBack(std::span<const Sample> samples);
  // They are trained. Those that are not out are left alone.
  void Commit(std::span<const Sample> samples);

  // What is out counts as owed: a snapshot is restored without the workers that have it.
  PoolState state() const;

 private:
  std::uint64_t NumberOf(data::Cursor at) const { return at.epoch * size_ + at.position; }
  data::Cursor CursorOf(std::uint64_t number) const { return {number / size_, number % size_}; }

  std::uint64_t size_;
  data::SampleOrder order_;
  std::uint64_t next_;
  RunSet back_;  // Given back.
  RunSet out_;   // Taken, neither committed nor given back.
};

class CommitLedger {
 public:
  // REQUIRES: as for the pool.
  CommitLedger(std::int64_t size, data::Cursor start);

  // kInvalidArgument: at least one was committed before, or is not of this run; names the first.
  // The others are noted.
  Status Commit(std::span<const Sample> samples);
  // What is missing before the first sample of the newest epoch of which something was committed:
  // at most `runs_max` runs, in order.
  std::vector<SampleRun> MissingOfFinishedEpochs(std::size_t runs_max) const;
  std::uint64_t committed() const { return done_.size(); }

 private:
  std::uint64_t size_;
  std::uint64_t start_;
  RunSet done_;  // One run, but for holes that are still out.
};

}  // namespace shoal::train
