#include "shoal/train_host.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "os/flash/record_file.h"
#include "train/cluster/job.h"
#include "train/cluster/memory_record_cache.h"
#include "train/cluster/net_learner.h"

namespace shoal {
namespace {

// What a phone gives for images: they can be had again.
constexpr std::uint64_t kFlashBytesMax = std::uint64_t{8} << 30U;
// Where there is no flash, or it is full.
constexpr std::uint64_t kMemoryBytesMax = std::uint64_t{1} << 30U;

}  // namespace

Result<std::shared_ptr<train::RecordCache>> TrainHost::OpenCache(const std::string& data_id,
                                                                 std::int64_t records) {
  if (options_.directory.empty()) {
    return std::shared_ptr<train::RecordCache>(std::make_shared<train::MemoryRecordCache>(
        records, kMemoryBytesMax, data::Colors::kAsStored));
  }
  std::error_code error;  // Told of by opening the file.
  std::filesystem::create_directories(options_.directory, error);
  SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<os::RecordFile> file,
                         os::RecordFile::Open({.directory = options_.directory,
                                               .id = data_id,
                                               .records = records,
                                               .flash_bytes = kFlashBytesMax,
                                               .memory_bytes = kMemoryBytesMax}));
  return std::shared_ptr<train::RecordCache>(std::move(file));
}

Result<std::unique_ptr<train::Learner>> TrainHost::MakeLearner(
    const wire::pb::TrainJob& job, std::shared_ptr<train::RecordCache> cache) {
  if (options_.check) SHOAL_RETURN_IF_ERROR(options_.check(job));
  SHOAL_ASSIGN_OR_RETURN(train::NetLearnerSetup setup, train::ReadJob(job));
  setup.worker_seed = options_.node;
  setup.bytes_max = options_.memory;
  SHOAL_ASSIGN_OR_RETURN(tuner_, KeptTuner::Make(options_.compute, parallel_, [this] {
                           return ToSeconds(clock_.Now().since_origin);
                         }));
  SHOAL_ASSIGN_OR_RETURN(std::unique_ptr<train::NetLearner> learner,
                         train::NetLearner::Make(std::move(setup), std::move(cache),
                                                 train::FilesOf(job), tuner_->tuner(), parallel_));
  tuner_->Save();
  return std::unique_ptr<train::Learner>(std::move(learner));
}

}  // namespace shoal
