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
// The first line is WorkerJob's (worker_job.h). It knows nothing of networks and files: WorkerHost
// brings them. Belongs to one event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/seams.h"
#include "base/status.h"
#include "train/cluster/early_sums.h"
#include "train/cluster/neighbours.h"
#include "train/cluster/trial.h"
#include "train/cluster/worker_host.h"
#include "train/cluster/worker_job.h"
#include "train/cluster/worker_round.h"
#include "wire/control.h"

namespace shoal::train {

struct WorkerOptions {
  NodeId head{};
  std::function<void(const std::string&)> news;  // For whoever looks at the device; may be empty.
  std::function<void()> on_over = nullptr;       // The training has ended; may be empty.
};

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

  // The device must not compute now: what it has begun is the others'. It gets all anew when the
  // head deals to it again.
  void GiveUp();

  // A training is under way here.
  bool busy() const { return job_.exists(); }

 private:
  void OnTrial(const wire::pb::TrainTrial& message);
  void TellTried(std::uint64_t epoch, const Result<std::vector<double>>& seconds);

  void OnRound(const wire::pb::TrainRound& message);
  void ApplyCommitted(const wire::pb::TrainRound& message);
  void JoinGroup();
  void StartRound();
  void Prefetch(const wire::pb::TrainRound& message);
  void Compute();
  // A job of the round's step; `done` only if it is still the same one, and all went well.
  void Submit(Work work, UniqueFunction<Status(Learner&)> run, UniqueFunction<void()> done);
  void OnJobFailed(const Status& why);
  // The next part, if there is one.
  void SubmitPart();
  void OnPartDone();
  void ReduceReady();
  void Average();
  void Sync();
  void OnReduced(std::uint64_t round, std::uint64_t epoch, std::size_t bucket,
                 const Status& status);
  void MaybeDone();
  void OnSums(NodeId from, Frame frame);
  void DialGroup();

  void Tell(const wire::pb::TrainToHead& message);
  void TellTrouble(NodeId peer, const std::string& text, bool nonsense = false);
  // Tells the head when the round does not go on, though this node has done its part.
  void Watch();
  void Drop();  // The round, and being in step.
  void Say(const std::string& line) const {
    if (options_.news) options_.news(line);
  }

  const Seams seams_;
  const WorkerOptions options_;
  WorkerJob job_;
  Neighbours neighbours_;

  bool in_step_ = false;  // Its weights are everybody's.
  std::optional<WorkerRound> round_;
  std::unique_ptr<Trial> trial_;  // The last; beside the round.
  EarlySums early_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace shoal::train
