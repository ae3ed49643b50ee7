// Keeper: what the head does with a training beside leading it: begins it, writes it down, tests
// and saves it. The program has one with files and networks; sim/ has one that checks.
//
// On the head's event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/node_id.h"
#include "base/status.h"
#include "base/unique_function.h"
#include "train/cluster/learner.h"
#include "train/cluster/sample_pool.h"
#include "train/cluster/timeline.h"

namespace shoal::train {

// A step that is committed: everybody applies it.
struct CommittedStep {
  std::int64_t iteration = 0;  // Updates done, this one included.
  double loss = 0;             // Mean over all samples.
  std::map<NodeId, std::vector<Sample>> samples;
  StepTimeline times;
};

class Keeper {
 public:
  virtual ~Keeper() = default;

  // Of the state that it has: where the training begins, and where it begins again when all
  // workers are lost at once.
  virtual std::int64_t iteration() const = 0;
  virtual std::string note() const = 0;
  virtual std::vector<std::span<float>> state() = 0;
  // Where a newer one is put; of the same sizes. It counts from Adopt on.
  virtual std::vector<std::span<float>> incoming() = 0;

  // After so many updates: is it time to test or to save?
  virtual bool WantsState(std::int64_t iteration) const = 0;
  // Whether state after `iteration` can come with this note; kInvalidArgument: not. At any time.
  virtual Status CheckNote(std::int64_t iteration, const std::string& note) const = 0;
  // What is in incoming() is the state after `iteration`, with the samples that are then owed.
  // `done` is called, at once or later, when the next one may come; the training goes on
  // meanwhile. A failure ends it.
  virtual void Adopt(std::int64_t iteration, const std::string& note, const PoolState& pool,
                     UniqueFunction<void(Status)> done) = 0;

  // A failure ends the training.
  virtual Status OnStep(const CommittedStep& step) = 0;
  // All workers were lost: everything after iteration() never was.
  virtual void OnRollback() = 0;
};

}  // namespace shoal::train
