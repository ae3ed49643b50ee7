// WorkerJob: what a worker trains: gets the job and its records from the head, has the learner
// built, says that it is ready, and runs what is to be computed with it on the compute thread.
//
//   offer ──▶ job, record 0 ──▶ learner built ──▶ ready ──▶ records, as rounds want them
//
// Belongs to one event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/seams.h"
#include "base/status.h"
#include "base/unique_function.h"
#include "train/cluster/item_fetcher.h"
#include "train/cluster/learner.h"
#include "train/cluster/record_cache.h"
#include "train/cluster/worker_host.h"
#include "wire/control.h"

namespace shoal::train {

// What TrainReady says of it: a fingerprint of the sizes of its buckets and of its state.
std::uint64_t ShapeOf(Learner& learner);

class WorkerJob {
 public:
  struct Hooks {
    std::function<void(const wire::pb::TrainToHead&)> tell;
    std::function<void(const std::string&)> say;    // For whoever looks at the device.
    std::function<void(const Status&)> on_trouble;  // The head sent nonsense, or nothing runs here.
    std::function<void()> on_idle;                  // What was submitted is done, all of it.
  };

  // All outlive it.
  WorkerJob(const Seams& seams, NodeId head, WorkerHost& host, Hooks hooks);
  WorkerJob(const WorkerJob&) = delete;
  WorkerJob& operator=(const WorkerJob&) = delete;

  // From the head.
  void OnOffer(const wire::pb::TrainOffer& offer);
  // The record that it makes whole, if any and if rounds may wait for it.
  std::optional<std::int64_t> OnPiece(const Frame& frame);
  // What was asked for does not come any more.
  void OnHeadDown();
  void End();

  // There is one, ready or not.
  bool exists() const { return training_ != nullptr; }
  // Whether it is that of this id, and its learner is built.
  bool IsReady(const std::string& id) const;

  // REQUIRES, of all that follows: it was ready once, and has not ended.
  Learner& learner() const { return *training_->learner; }
  const wire::pb::TrainJob& job() const { return training_->job; }
  // What is computed next: their records that are not here; asks for them.
  std::set<std::int64_t> Need(const std::vector<Sample>& samples);
  // What may come after it.
  void Prefetch(const std::vector<Sample>& samples);
  // Runs `run` on the compute thread, then `done` here, with what it said, if it is still the same
  // job.
  void Submit(std::uint64_t round, Work work, UniqueFunction<Status(Learner&)> run,
              UniqueFunction<void(const Status&)> done);
  // Nothing that was submitted is still to be done.
  bool idle() const { return runs_ == 0; }

 private:
  // What runs work on; they share it, so that a worker that goes does not pull it away.
  struct Training {
    std::string id;
    wire::pb::TrainJob job;
    std::shared_ptr<RecordCache> cache;
    std::unique_ptr<Learner> learner;
    Status status;  // Of having built it.
  };

  void OnJob(const std::string& bytes);
  void Build();
  void TellReady(const Status& status);
  // False: it cannot be run, and on_trouble was told.
  bool Run(std::uint64_t round, Work work, UniqueFunction<Status(Training&)> run,
           UniqueFunction<void(const Status&)> done);

  const Seams seams_;
  WorkerHost& host_;
  const Hooks hooks_;
  ItemFetcher fetcher_;
  std::shared_ptr<Training> training_;
  bool building_ = false;  // On the compute thread.
  bool built_ = false;
  std::size_t runs_ = 0;  // That were submitted and are not done.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace shoal::train
