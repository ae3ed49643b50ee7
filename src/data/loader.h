// BatchLoader: batches ready when the network wants them. Threads of its own read, decode
// and transform the next batches while the current one is trained on.
//
// What comes out depends on the source, the transform, the seed and the cursor, and not on
// the number of threads or on time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "base/status.h"
#include "base/thread_annotations.h"
#include "data/record.h"
#include "data/sample_order.h"
#include "data/transform.h"

namespace shoal::data {

struct LoaderOptions {
  std::int64_t batch = 1;
  bool shuffle = false;
  std::uint64_t seed = 0;
  Cursor start{};  // SampleOrder::Start, or from a snapshot.
  int threads = 1;
  // Batches ready beyond the one in use: the memory for them is all that a loader needs.
  int prefetch = 2;
  std::int64_t stride = 0;  // Floats between pixels; 0: as many as channels, without gaps.
};

// Valid until the next call of Next. Gaps between pixels (stride > channels) are zero.
struct Batch {
  std::span<const float> images;  // count images of shape.height rows of shape.width pixels.
  std::span<const float> labels;
  ImageShape shape;
  std::int64_t stride = 0;
  std::int64_t count = 0;
};

// Belongs to one thread; its own threads are its business.
class BatchLoader {
 public:
  // Reads one record to learn the shape, and starts loading. kInvalidArgument: options that
  // make no sense, or records that the transform cannot take.
  static Result<std::unique_ptr<BatchLoader>> Create(std::shared_ptr<const RecordSource> source,
                                                     Transform transform,
                                                     const LoaderOptions& options);
  // At any moment: every thread finishes the few records it has begun with, and ends.
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // What every batch looks like.
  ImageShape shape() const { return shape_; }
  std::int64_t batch() const { return options_.batch; }

  // Waits for the next batch. A failure names the record; batches before the one it is in are
  // given first, and afterwards it is returned for ever.
  Result<Batch> Next();

  // The first sample that no batch from Next had: where to go on from a snapshot.
  Cursor cursor() const { return order_.Advance(options_.start, SamplesBefore(given_)); }

 private:
  // A few samples of a batch: what a thread takes at a time.
  struct Unit {
    std::int64_t batch = 0;
    std::int64_t first = 0;
    std::int64_t last = 0;  // Beyond the last.
  };
  // The pixels are written by whoever holds a unit of the slot's batch, and read by the
  // caller once all units are done; the lock orders the two.
  struct Slot {
    std::vector<float> images;
    std::vector<float> labels;
  };
  struct Progress {
    std::int64_t batch = -1;  // Which one is, or was last, in the slot.
    std::int64_t units_left = 0;
    std::int64_t failed_sample = 0;
    Status failure{};  // Of the first sample that failed.
  };

  BatchLoader(std::shared_ptr<const RecordSource> source, Transform transform,
              const LoaderOptions& options, ImageShape shape);
  void Start();
  void Work();
  bool TakeUnit(Unit& unit) SHOAL_EXCLUDES(mutex_);
  void FinishUnit(const Unit& unit, std::int64_t failed_sample, Status failure)
      SHOAL_EXCLUDES(mutex_);
  Status LoadSample(std::int64_t batch, std::int64_t sample, Record& record);
  std::uint64_t SamplesBefore(std::int64_t batch) const {
    return static_cast<std::uint64_t>(batch * options_.batch);
  }
  std::size_t SlotOf(std::int64_t batch) const {
    return static_cast<std::size_t>(batch) % slots_.size();
  }

  // Constant after construction.
  const std::shared_ptr<const RecordSource> source_;
  const Transform transform_;
  const LoaderOptions options_;
  const ImageShape shape_;
  const SampleOrder order_;
  const std::int64_t unit_samples_;
  const std::int64_t units_per_batch_;

  // The caller's.
  std::int64_t given_ = 0;  // Batches returned by Next.
  Status failed_;

  std::vector<Slot> slots_;
  Mutex mutex_;
  std::condition_variable_any work_;   // For the threads: a slot is free, or stop_.
  std::condition_variable_any ready_;  // For the caller: a batch is whole.
  std::vector<Progress> progress_ SHOAL_GUARDED_BY(mutex_);
  std::int64_t next_unit_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::int64_t released_ SHOAL_GUARDED_BY(mutex_) = 0;  // Batches the caller is done with.
  bool stop_ SHOAL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace shoal::data
