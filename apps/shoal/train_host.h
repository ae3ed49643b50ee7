// TrainHost: what a real device brings to a training: a network built from the job's files, on its
// threads, and records on its flash.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/parallel.h"
#include "shoal/compute.h"
#include "train/cluster/worker_host.h"

namespace shoal {

struct TrainHostOptions {
  std::string directory;     // Where records are kept.
  std::uint64_t node = 0;    // Who it is: another dropout on each.
  std::uint64_t memory = 0;  // What a training may take; 0: no limit.
  ComputeOptions compute;
  // [job] Whether this device wants to train that; may be empty.
  std::function<Status(const wire::pb::TrainJob&)> check = {};
};

class TrainHost final : public train::WorkerHost {
 public:
  // All outlive it.
  TrainHost(TrainHostOptions options, const Clock& clock, Parallel& parallel)
      : options_(std::move(options)), clock_(clock), parallel_(parallel) {}

  Result<std::shared_ptr<train::RecordCache>> OpenCache(const std::string& data_id,
                                                        std::int64_t records) override;
  Result<std::unique_ptr<train::Learner>> MakeLearner(
      const wire::pb::TrainJob& job, std::shared_ptr<train::RecordCache> cache) override;

 private:
  const TrainHostOptions options_;
  const Clock& clock_;
  Parallel& parallel_;
  std::optional<KeptTuner> tuner_;  // Of the compute thread.
};

}  // namespace shoal
