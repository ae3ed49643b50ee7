// Learner: what a worker trains, as chief and workers see it: arrays of floats, rounds, and jobs
// that compute. NetLearner (net_learner.h) is a network; sim/ has a toy.
//
// In a synchronous step every worker computes the gradient of its own samples, bucket by bucket, in
// the order in which backward finishes them; the buckets are added up over all workers; and when
// everybody has all sums, everybody applies the same update. Until then nothing that was computed
// is overwritten, so that a sum can be made again without a worker that was lost.
//
// Methods marked [job] are called from one compute thread, one at a time; the others on the event
// loop while no job of this learner runs (except `local`, `sums` and `buckets`, which may be
// called at any time after Begin).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/status.h"
#include "train/sample.h"

namespace shoal::train {

// A part of the gradient that is whole once `parts` parts of the step have run.
struct Bucket {
  std::size_t begin = 0;  // Floats, in local() and sums().
  std::size_t end = 0;
  std::size_t parts = 0;
  bool operator==(const Bucket&) const = default;
};

class Learner {
 public:
  virtual ~Learner() = default;

  // --- A step.

  // The step is cut into so many jobs; the same on all workers, as are the buckets.
  virtual std::size_t parts() const = 0;
  virtual std::span<const Bucket> buckets() const = 0;
  // [job] Gets ready to compute `samples` as step number `step`: loads them, and is built anew if
  // they are another number than last time. Failures name the record. REQUIRES: not empty.
  virtual Status Begin(std::uint64_t step, std::span<const Sample> samples) = 0;
  // [job] Parts 0 … parts() - 1 in order.
  virtual Status ComputePart(std::size_t part) = 0;
  // Mean over the samples, once all parts have run.
  virtual double loss() const = 0;
  // Of this worker: mean over its samples. exact(): a sum of units, which are of one size; sums()
  // are then plain sums of local(), whose bits do not depend on who has which units.
  virtual bool exact() const { return false; }
  virtual std::span<const float> local() const = 0;
  // Where sums over all workers go.
  virtual std::span<float> sums() = 0;
  // [job] The update from sums(). `loss`: mean over all workers' samples, which were so many.
  virtual void Apply(double loss, std::int64_t samples) = 0;

  // --- Statistics of normalisations: averaged over workers before a test or a snapshot.

  virtual std::size_t statistics() const = 0;                       // Floats; 0: none.
  virtual void ReadStatistics(std::span<float> out) const = 0;      // REQUIRES: of that size.
  virtual void WriteStatistics(std::span<const float> values) = 0;  // REQUIRES: of that size.

  // --- All that a newcomer needs to go on as everybody else: parameters and histories as arrays
  // that can be sent and overwritten, and the rest (iteration, schedule) as a short text.

  virtual std::vector<std::span<float>> state() = 0;
  virtual std::string Note() const = 0;
  // After state() was overwritten. kInvalidArgument: the note is not of such a learner.
  virtual Status Restore(const std::string& note) = 0;

  // --- What it costs.

  // Samples that fit the device's memory in one step.
  virtual std::int64_t samples_max() const = 0;
  // Of a part, with so many samples: what a phone model in sim/ turns into time.
  virtual Work PartWork(std::size_t part, std::size_t samples) const = 0;
};

}  // namespace shoal::train
