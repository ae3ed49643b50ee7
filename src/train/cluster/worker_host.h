// WorkerHost: what a device brings to a training: room for records, and what builds learners.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "train/cluster/learner.h"
#include "train/cluster/record_cache.h"
#include "wire/control.h"

namespace shoal::train {

class WorkerHost {
 public:
  virtual ~WorkerHost() = default;

  // Where the records of this data set are kept.
  virtual Result<std::shared_ptr<RecordCache>> OpenCache(const std::string& data_id,
                                                         std::int64_t records) = 0;
  // [job] Builds what is trained. The cache has record 0.
  virtual Result<std::unique_ptr<Learner>> MakeLearner(const wire::pb::TrainJob& job,
                                                       std::shared_ptr<RecordCache> cache) = 0;
};

}  // namespace shoal::train
