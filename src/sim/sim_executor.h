// SimExecutor: the cores of one phone in a World. A job is run at once, inside Submit,
// and its `done` comes when the phone's model says that it would be finished, one job
// after the other. Belongs to one World.
#pragma once

#include <cstdint>
#include <vector>

#include "base/executor.h"
#include "sim/event_queue.h"
#include "sim/models.h"

namespace shoal::sim {

class SimExecutor final : public Executor {
 public:
  // `queue` outlives the executor. Completions are events of `node`.
  SimExecutor(EventQueue& queue, NodeIndex node, const PhoneModel& phone)
      : queue_(queue), node_(node), phone_(phone) {}

  // Beyond the contract: kUnavailable from a process that is being killed.
  Status Submit(Job job) override;

  // Jobs that start from now on take `factor` times as long; 1 is normal.
  void SetSlowdown(double factor) { slowdown_ = factor; }
  double slowdown() const { return slowdown_; }

  // Whether the job of this event belongs to the living process.
  bool IsCurrent(const Event& event) const { return event.stamp == process_; }
  // The tag of the job that is done. REQUIRES: IsCurrent(event).
  JobTag NextDone() const { return waiting_.front().tag; }
  // Starts the next job, then reports the one that is done. REQUIRES: IsCurrent(event).
  void Finish();

  // The process died: no `done` comes any more, nothing can be submitted until Start.
  void DropAll();
  void Start() { running_ = true; }

 private:
  struct Waiting {
    JobTag tag;
    Work work;
    UniqueFunction<void(JobTag)> done;
  };
  void StartFirst();

  EventQueue& queue_;
  const NodeIndex node_;
  const PhoneModel phone_;
  double slowdown_ = 1;
  bool running_ = false;
  std::uint32_t process_ = 0;
  // The first one is being computed. A vector: few wait, and 10,000 empty deques would
  // cost 6 MB.
  std::vector<Waiting> waiting_;
};

}  // namespace shoal::sim
