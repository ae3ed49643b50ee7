// Worker: a node's part in a training. Gets the job and its records from the head, computes the
// rounds that the head calls, adds up with its neighbours, and changes no weight before the head
// says that everybody has all sums.
//
//   offer ──▶ job, record 0 ──▶ learner built ──▶ ready ──▶ SYNC: weights from a peer
//   STEP:  records ──▶ jobs: begin, parts … ──▶ buckets, as parts finish them ──▶ done
//   the next round says that this one is committed: apply, go on
//   the same round with a higher epoch: somebody was lost; reduce again what was computed
//   trial: what sums or a link take; needs no job, and leaves rounds as they are
//
// It knows nothing of networks and files: WorkerHost brings them. Belongs to one event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/seams.h"
#include "base/status.h"
#include "train/cluster/early_sums.h"
#include "train/cluster/item_fetcher.h"
#include "train/cluster/learner.h"
#include "train/cluster/record_cache.h"
#include "train/cluster/trial.h"
#include "train/cluster/worker_round.h"
#include "wire/control.h"

namespace shoal::train {

// What a device brings.
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

struct WorkerOptions {
  NodeId head{};
  std::function<void(const std::string&)> news;  // For whoever looks at the device; may be empty.
  std::function<void()> on_over = nullptr;       // The training has ended; may be empty.
};

// What TrainReady says of it: a fingerprint of the sizes of its buckets and of its state.
std::uint64_t ShapeOf(Learner& learner);

class Worker {
 public:
  // All outlive it. The caller owns the network's events and passes on what is here.
  Worker(const Seams& seams, WorkerOptions options, WorkerHost& host);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void OnPeerUp(NodeId peer);
  void OnPeerDown(NodeId peer);
  void OnWritable(NodeId peer);
  // From the head.
  void OnMessage(const wire::pb::TrainToNode& message);
  // Whether a frame is a worker's business: sums, from anybody; items, from the head.
  static bool IsForWorker(Traffic traffic, const Frame& frame);
  void OnFrame(NodeId from, Traffic traffic, Frame frame);

  // A training is under way here.
  bool busy() const { return training_ != nullptr; }

 private:
  // What jobs work on; they share it, so that a worker that goes does not pull it away.
  struct Training {
    std::string id;
    wire::pb::TrainJob job;
    std::shared_ptr<RecordCache> cache;
    std::unique_ptr<Learner> learner;
    Status status;  // Of the first job that failed.
  };

  void OnOffer(const wire::pb::TrainOffer& offer);
  void OnJob(const std::string& bytes);
  void Build();
  void OnBuilt();
  void TellReady(const Status& status);

  void OnTrial(const wire::pb::TrainTrial& message);
  void TellTried(std::uint64_t epoch, const Result<std::vector<double>>& seconds);

  void OnRound(const wire::pb::TrainRound& message);
  // Whether what this node holds is what the head thinks it holds.
  bool IsInStep(const wire::pb::TrainRound& message) const;
  void ApplyCommitted(const wire::pb::TrainRound& message);
  void JoinGroup();
  void StartRound();
  void WantRecords(const wire::pb::TrainRound& message);
  void Compute();
  void OnPartDone(std::uint64_t round, std::size_t parts);
  void ReduceReady();
  void Average();
  void Sync();
  void OnReduced(std::uint64_t round, std::uint64_t epoch, std::size_t bucket,
                 const Status& status);
  void MaybeDone();
  void OnSums(NodeId from, Frame frame);
  void DialGroup();
  bool IsNeighbour(NodeId peer) const;

  // Runs `run` on the compute thread, then `done` here.
  void Submit(std::uint64_t round, Work work, UniqueFunction<void(Training&)> run,
              UniqueFunction<void()> done);
  void Tell(const wire::pb::TrainToHead& message);
  void TellTrouble(NodeId peer, const std::string& text, bool nonsense = false);
  // Tells the head when the round does not go on, though this node has done its part.
  void Watch();
  bool IsWaiting() const;
  void Drop();  // The round, and being in step.
  void Say(const std::string& line) const {
    if (options_.news) options_.news(line);
  }

  const Seams seams_;
  const WorkerOptions options_;
  WorkerHost& host_;
  ItemFetcher fetcher_;
  std::set<NodeId> up_;

  std::shared_ptr<Training> training_;
  bool built_ = false;
  std::size_t jobs_ = 0;  // That were submitted and are not done.
  bool in_step_ = false;  // Its weights are everybody's.
  std::optional<WorkerRound> round_;
  std::unique_ptr<Trial> trial_;  // The last; beside the round.
  EarlySums early_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace shoal::train
