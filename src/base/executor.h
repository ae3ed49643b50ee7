// Computing as a dependency. State machines never compute on their event loop:
// they submit a pure job that owns its inputs and get an event when it is done.
// os/ runs jobs on a compute thread (and the thread pool below it); sim/ runs
// them at once and charges the modelled time of that phone.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "base/unique_function.h"

namespace shoal {

// Says which work an event belongs to. An event of an old epoch is ignored by
// its receiver: the cluster has changed since the job was submitted.
struct JobTag {
  std::uint64_t step = 0;
  std::uint64_t epoch = 0;
  bool operator==(const JobTag&) const = default;
};

// How much a job asks of a device: what a phone model in sim/ turns into time.
struct Work {
  double operations = 0;   // Multiply-adds count two.
  double bytes_moved = 0;  // To and from memory.
};

struct Job {
  JobTag tag;
  Work work;
  UniqueFunction<void()> run;         // Off the loop; touches only what it owns.
  UniqueFunction<void(JobTag)> done;  // On the loop, after `run`, if not cancelled.
};

// Belongs to one event loop: Submit is called on it and `done` runs on it.
class Executor {
 public:
  virtual ~Executor() = default;

  // Queues `job`. Jobs run one after the other in the order of submission, and
  // their `done` come in that order, never inside this call.
  // kResourceExhausted: kQueuedJobsMax jobs are waiting; nothing was queued.
  virtual Status Submit(Job job) = 0;

  // A stage has a few micro-batches in flight; more waiting jobs than this means
  // that nobody is applying back-pressure.
  static constexpr std::size_t kQueuedJobsMax = 1024;
};

}  // namespace shoal
